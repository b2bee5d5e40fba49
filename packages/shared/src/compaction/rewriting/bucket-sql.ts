import type { CompactionConfig } from '@svc/domain/compaction'
import type { Granularity, Interval } from '@svc/domain/time'
import { identifier, instantLiteral, literalList, storedTypes } from '../../duckdb/index.ts'
import { aggregateSql, bucketStartSql, metricValueType, type StoredType } from '../../ingestion/index.ts'
import { filterColumns, rowFilterSql } from './row-filter-sql.ts'
import type { InputFile } from './source-files.ts'
import type { WrittenColumns } from './written-columns.ts'

/** A file, and the times of the rows to read; undefined reads all rows. */
export interface BucketInput {
  readonly file: InputFile
  readonly times: readonly Interval[] | undefined
}

const columnOf = ({ columns }: InputFile, name: string): readonly [string, StoredType] | undefined => {
  const type = columns.get(name)
  if (type !== undefined) return [name, type]
  return [...columns].find(([known]) => known.toLowerCase() === name.toLowerCase())
}

/** Returns SQL for a column of a file, cast to another type. */
function valueSql(file: InputFile, name: string, as: StoredType): string {
  const column = columnOf(file, name)
  if (column === undefined) return `NULL::${storedTypes[as]}`
  const sql = identifier(column[0])
  if (column[1] === as) return sql
  // Fractions are truncated, as during ingestion; a cast would round.
  const truncated = as === 'long' && column[1] !== 'string' ? `trunc(${sql}::DOUBLE)` : sql
  return `TRY_CAST(${truncated} AS ${storedTypes[as]})`
}

function inTimes(times: readonly Interval[]): string {
  const parts = times.map(({ start, end }) => {
    const bounds = [
      Number.isFinite(start) ? [`__time >= ${instantLiteral(start)}`] : [],
      Number.isFinite(end) ? [`__time < ${instantLiteral(end)}`] : [],
    ].flat()
    return bounds.length === 0 ? 'true' : `(${bounds.join(' AND ')})`
  })
  return `(${parts.join(' OR ')})`
}

/** Returns SQL for the time of a written row. A coarser query granularity must not move the row out of its segment. */
function writtenTime(granularity: Granularity | null, bucket: Interval): string {
  if (granularity === null || granularity === 'NONE') return 't'
  const cut = bucketStartSql(granularity, 't')
  const start = Number.isFinite(bucket.start) ? instantLiteral(bucket.start) : undefined
  if (cut === undefined) return start ?? 't'
  return start === undefined ? cut : `greatest(${cut}, ${start})`
}

/** Alias of a column in the rows of a bucket, before it gets its own name. */
export const dimensionAlias = (index: number): string => `d${index}`
const metricAlias = (index: number): string => `m${index}`

/**
 * Returns SQL for the rows of one bucket: filtered, rolled up if configured, and sorted by `first` (aliases of
 * dimensions), time, and dimensions. The columns are `__time` and aliases.
 */
export function bucketRowsSql(
  inputs: readonly BucketInput[],
  bucket: Interval,
  { dimensions, metrics, rollup }: WrittenColumns,
  config: CompactionConfig,
  first: readonly string[],
): string {
  const filter = config.transformSpec?.filter ?? undefined
  const names = [...new Set(filter === undefined ? [] : filterColumns(filter))].filter(
    (name) => name !== '__time',
  )
  const filterTypes = names.map((name): StoredType => {
    const types = new Set(inputs.flatMap(({ file }) => columnOf(file, name)?.[1] ?? []))
    const [only] = types
    return types.size === 1 && only !== undefined ? only : 'string'
  })
  const columnsOf = (file: InputFile): string[] => [
    '__time::TIMESTAMP_MS AS t',
    ...dimensions.map(({ name, type }, index) => `${valueSql(file, name, type)} AS ${dimensionAlias(index)}`),
    ...metrics.map((metric, index) => {
      const type = metricValueType(metric)
      const value = type === undefined ? '1::BIGINT' : valueSql(file, metric.fieldName ?? '', type)
      return `${value} AS ${metricAlias(index)}`
    }),
    ...names.map((name, index) => `${valueSql(file, name, filterTypes[index] as StoredType)} AS f${index}`),
  ]
  // Files that are read the same way are read together.
  const readings = Map.groupBy(inputs, ({ file, times }) =>
    [columnsOf(file).join(', '), times === undefined ? '' : `WHERE ${inTimes(times)}`].join(' | '),
  )
  const source = [...readings.values()].map((group) => {
    const { file, times } = group[0] as BucketInput
    const paths = literalList(group.map((input) => input.file.path))
    const where = times === undefined ? '' : ` WHERE ${inTimes(times)}`
    return `SELECT ${columnsOf(file).join(', ')} FROM read_parquet(${paths}, union_by_name = false)${where}`
  })
  const wanted =
    filter === undefined
      ? ''
      : ` WHERE ${rowFilterSql(filter, (name) =>
          name === '__time'
            ? { sql: 't', type: 'time' }
            : { sql: `f${names.indexOf(name)}`, type: filterTypes[names.indexOf(name)] as StoredType },
        )}`
  const keys = dimensions.map((_, index) => dimensionAlias(index))
  const values = metrics.map((metric, index) =>
    rollup ? `${aggregateSql(metric, metricAlias(index))} AS ${metricAlias(index)}` : metricAlias(index),
  )
  const time = `${writtenTime(config.granularitySpec?.queryGranularity ?? null, bucket)} AS __time`
  const order = [...new Set([...first, '__time', ...keys])].join(', ')
  const groups = rollup ? ` GROUP BY ${['__time', ...keys].join(', ')}` : ''
  return `SELECT ${[time, ...keys, ...values].join(', ')} FROM (${source.join(' UNION ALL ')})${wanted}${groups} ORDER BY ${order}`
}

/** Returns the select list that gives these columns their own names. */
export const writtenSelect = ({ dimensions, metrics }: WrittenColumns): string =>
  [
    '__time',
    ...dimensions.map(({ name }, index) => `${dimensionAlias(index)} AS ${identifier(name)}`),
    ...metrics.map(({ name }, index) => `${metricAlias(index)} AS ${identifier(name)}`),
  ].join(', ')
