import type { SegmentTable } from '@svc/domain/inventory'
import { accessTo, type Caller } from '@svc/shared/security'

/** The datasources of the segments that the leader knows and that a caller may read. */
export interface ReadableDatasources {
  /** Whether the caller may read all of them. */
  readonly all: boolean
  /** Returns whether a datasource, given by number, is one of them. */
  has(datasource: number): boolean
  /** Returns whether a segment, given by row, is in one of them. */
  hasRow(row: number): boolean
}

export const allDatasources: ReadableDatasources = { all: true, has: () => true, hasRow: () => true }

/** Returns the datasources that a caller may read. In compatibility mode, these are all datasources, as in Druid 37. */
export async function datasourcesReadableBy(
  caller: Caller,
  table: Pick<SegmentTable, 'datasourceNames' | 'datasourceOfRow' | 'datasourceNameOf' | 'idOf'>,
): Promise<ReadableDatasources> {
  const names = table.datasourceNames
  const isReadable = await accessTo(caller, names, 'SEE')
  const readable = names.map(isReadable)
  if (!readable.includes(false)) return allDatasources
  const has = (datasource: number): boolean => readable[datasource] === true
  return {
    all: false,
    has,
    hasRow: (row) => {
      const datasource = table.datasourceOfRow(row)
      if (datasource >= 0) return has(datasource)
      const name = row < 0 ? undefined : table.datasourceNameOf(table.idOf(row), row)
      return name !== undefined && isReadable(name)
    },
  }
}
