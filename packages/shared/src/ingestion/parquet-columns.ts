import type { SegmentColumn } from '@svc/domain/segment'
import { literal, storedTypes } from '../duckdb/index.ts'
import type { Engine } from './engine.ts'
import type { StoredType } from './stored-value.ts'

const typeOfDuck = new Map<string, StoredType>(
  Object.entries(storedTypes).map(([type, duck]) => [duck, type as StoredType]),
)

/** The type of a column of a segment by that which DuckDB reads; undefined of one that no segment has. */
export const typeOfColumn = (duckType: string): StoredType | undefined => typeOfDuck.get(duckType)

/** The columns but the time of a file that was just written as a segment, in their order. */
export async function columnsOf(engine: Engine, file: string): Promise<SegmentColumn[]> {
  // A segment may have no other column, and nothing can be selected then: the time is left out here.
  const rows = await engine.rows(`DESCRIBE SELECT * FROM read_parquet(${literal(file)})`)
  const others = rows.filter(({ column_name: name }) => name !== '__time')
  return others.map(({ column_name: name, column_type: duckType }) => {
    const type = typeOfColumn(String(duckType))
    if (type === undefined) throw new Error(`A segment was written with a column of type [${duckType}]`)
    return { name: String(name), type }
  })
}
