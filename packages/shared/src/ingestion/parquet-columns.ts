import type { SegmentColumn } from '@svc/domain/segment'
import { literal, storedTypes } from '../duckdb/index.ts'
import type { Engine } from './engine.ts'
import type { StoredType } from './stored-value.ts'

const typeOfDuck = new Map<string, StoredType>(
  Object.entries(storedTypes).map(([type, duck]) => [duck, type as StoredType]),
)

/** Returns the segment column type for a type of DuckDB; undefined if segments do not support it. */
export const typeOfColumn = (duckType: string): StoredType | undefined => typeOfDuck.get(duckType)

/** Returns the columns of a segment file, except `__time`, in order. */
export async function columnsOf(engine: Engine, file: string): Promise<SegmentColumn[]> {
  // Excluded here instead of in SQL, which cannot select zero columns if there is no other column.
  const rows = await engine.rows(`DESCRIBE SELECT * FROM read_parquet(${literal(file)})`)
  const others = rows.filter(({ column_name: name }) => name !== '__time')
  return others.map(({ column_name: name, column_type: duckType }) => {
    const type = typeOfColumn(String(duckType))
    if (type === undefined) throw new Error(`Wrote a segment with a column of unsupported type [${duckType}]`)
    return { name: String(name), type }
  })
}
