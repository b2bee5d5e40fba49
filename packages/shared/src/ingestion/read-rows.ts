import { invalidInput } from '@svc/domain/failure'
import { bucketOf, type Granularity, type Interval } from '@svc/domain/time'
import { instantLiteral, storedTypes } from '../duckdb/index.ts'
import type { Engine } from './engine.ts'
import { bucketStartSql } from './granularity-sql.ts'
import type { IndexSpec, MetricSpec } from './index-spec.ts'
import type { InputFile } from './input-files.ts'
import type { BrokenLines, Input, Relation } from './input-relation.ts'
import { metricValueType, type StoredDimension } from './stored-columns.ts'
import { lostValueSql, type StoredType, storedValueSql } from './stored-value.ts'
import { instantSql, isInstantSql } from './timestamp-format.ts'

/** Name of the table with all rows of the task in their final order. */
export const rowsTable = 'work.ready'

/** How the rows of the input were processed. */
export interface RowCounts {
  readonly rowsRead: number
  /** Rows without a valid timestamp or with a value that does not match the type of its column. */
  readonly rowsUnparseable: number
  /** Rows outside the intervals of the task. */
  readonly rowsThrownAway: number
  /** Messages about the first invalid rows. */
  readonly parseExceptions: readonly string[]
  /** Columns that the task names but no stored row has; empty if there are no rows. */
  readonly columnsInNoRow: readonly string[]
}

/** The columns of the rows table, in stored order. */
export interface RowsPlan {
  readonly spec: IndexSpec
  readonly input: Input
  readonly dimensions: readonly StoredDimension[]
}

// How a row was processed: stored, outside the intervals, or which part of it is invalid.
const status = { stored: 0, outside: 1, broken: 2, time: 3, firstColumn: 4 } as const

const maxListedExceptions = 10
const maxShownValueLength = 60
const maxKeptRejects = 1_000_000

const nameOfDimension = (index: number): string => `d${index}`
const nameOfMetric = (index: number): string => `m${index}`

interface CheckedColumn {
  readonly name: string
  /** SQL for its value in its stored type. */
  readonly value: string
  readonly type: string
  /** SQL for its value in the input. */
  readonly source: string | undefined
  /** SQL, with the short name for `value`, that is true if the input's value was lost. */
  readonly isLost: string
}

function fullBuckets(intervals: readonly Interval[], granularity: Granularity): Interval[] {
  return intervals
    .filter(({ start, end }) => start < end)
    .map(({ start, end }) => ({
      start: Number.isFinite(start) ? bucketOf(granularity, start).start : start,
      end: Number.isFinite(end) ? bucketOf(granularity, end - 1).end : end,
    }))
}

/**
 * Returns SQL that is true for an instant that the task ingests: it writes entire buckets, so it reads entire buckets.
 */
function isWantedSql(spec: IndexSpec, instant: string): string {
  if (spec.intervals === undefined) return 'true'
  const ranges = fullBuckets(spec.intervals, spec.segmentGranularity).map(({ start, end }) => {
    const bounds: string[] = []
    if (Number.isFinite(start)) bounds.push(`${instant} >= ${instantLiteral(start)}`)
    if (Number.isFinite(end)) bounds.push(`${instant} < ${instantLiteral(end)}`)
    return bounds.length === 0 ? 'true' : `(${bounds.join(' AND ')})`
  })
  return ranges.length === 0 ? 'false' : `(${ranges.join(' OR ')})`
}

function storedTimeSql(spec: IndexSpec, instant: string): string {
  const bucket = bucketStartSql(spec.segmentGranularity, instant)
  const cut = bucketStartSql(spec.queryGranularity, instant)
  if (spec.queryGranularity === 'NONE') return instant
  if (cut === undefined) return bucket ?? instant
  // A coarser query granularity must not move a row out of its segment.
  return bucket === undefined ? cut : `greatest(${cut}, ${bucket})`
}

function neededColumns({ spec, dimensions }: RowsPlan): string[] {
  const fields = spec.metrics.filter(({ type }) => type !== 'count').map(({ fieldName }) => fieldName)
  return [...new Set([spec.timestamp.column, ...dimensions.map(({ name }) => name), ...fields])]
}

function checkedColumns({ spec, dimensions }: RowsPlan, relation: Relation): CheckedColumn[] {
  const checked = (name: string, short: string, type: StoredType): CheckedColumn => {
    const column = relation.columns.get(name)
    const sqlType = storedTypes[type]
    if (column === undefined) {
      return { name, value: `NULL::${sqlType}`, type: sqlType, source: undefined, isLost: 'false' }
    }
    return {
      name,
      value: storedValueSql(column, type),
      type: sqlType,
      source: column.sql,
      isLost: lostValueSql(column, type, short),
    }
  }
  return [
    ...dimensions.map(({ name, type }, index) => checked(name, nameOfDimension(index), type)),
    ...spec.metrics.map((metric, index): CheckedColumn => {
      const type = metricValueType(metric)
      return type === undefined
        ? { name: metric.name, value: '1::BIGINT', type: 'BIGINT', source: undefined, isLost: 'false' }
        : checked(metric.fieldName, nameOfMetric(index), type)
    }),
  ]
}

/**
 * Returns a SELECT of every row of the files: status, instant, columns, and, if the row is invalid, the value to
 * report.
 */
function selectChecked(
  plan: RowsPlan,
  files: readonly InputFile[],
  brokenLines: BrokenLines,
): { sql: string; columns: readonly CheckedColumn[] } {
  const { spec, dimensions } = plan
  const relation = plan.input.relation(files, neededColumns(plan), brokenLines)
  const columns = checkedColumns(plan, relation)
  const shorts = columns.map((_, index) =>
    index < dimensions.length ? nameOfDimension(index) : nameOfMetric(index - dimensions.length),
  )
  const time = relation.columns.get(spec.timestamp.column)
  const missing = spec.timestamp.missingValueMs
  const instant =
    time === undefined ? 'NULL::TIMESTAMP_MS' : instantSql(time.sql, time.type, spec.timestamp.format)
  const isMissing = time === undefined ? 'true' : `(${time.sql} IS NULL OR CAST(${time.sql} AS VARCHAR) = '')`
  const instantOrMissing =
    missing === undefined
      ? instant
      : `CASE WHEN ${isMissing} THEN ${instantLiteral(missing)} ELSE ${instant} END`
  const values = columns.map(({ value }, index) => `${value} AS ${shorts[index]}`)
  const lost = columns.map(({ isLost }, index) =>
    isLost === 'false' ? '' : `WHEN ${isLost} THEN ${status.firstColumn + index}`,
  )
  const sources = columns.map(({ source }, index) =>
    source === undefined ? '' : `WHEN ${status.firstColumn + index} THEN CAST(${source} AS VARCHAR)`,
  )
  const read = `SELECT *, ${instantOrMissing} AS found${['', ...values].join(', ')} FROM ${relation.from}`
  const inner = `SELECT *, CASE WHEN ${isInstantSql('found')} THEN found END AS instant FROM (${read})`
  const middle = `SELECT *, (CASE
      WHEN ${relation.broken} THEN ${status.broken}
      WHEN instant IS NULL THEN ${status.time}
      ${lost.join(' ')}
      WHEN NOT ${isWantedSql(spec, 'instant')} THEN ${status.outside}
      ELSE ${status.stored} END)::USMALLINT AS status FROM (${inner})`
  const shownValue = `CASE status WHEN ${status.time} THEN ${time === undefined ? 'NULL' : `CAST(${time.sql} AS VARCHAR)`} ${sources.join(' ')} END AS reported`
  return {
    sql: `SELECT status, instant${['', ...shorts].join(', ')}, ${shownValue} FROM (${middle})`,
    columns,
  }
}

/** Returns SQL that aggregates the values of a metric. */
export function aggregateSql({ type }: Pick<MetricSpec, 'type'>, value: string): string {
  switch (type) {
    case 'count':
      return 'count(*)'
    case 'longSum':
      return `CAST(sum(${value}) AS BIGINT)`
    case 'doubleSum':
      return `sum(${value})`
    case 'floatSum':
      return `CAST(sum(${value}::DOUBLE) AS FLOAT)`
    case 'longMin':
    case 'doubleMin':
    case 'floatMin':
      return `min(${value})`
    default:
      return `max(${value})`
  }
}

function createTableSql(plan: RowsPlan): string {
  const { spec, dimensions } = plan
  const reject = Math.min(spec.maxParseExceptions + 1, maxKeptRejects)
  const checked = selectChecked(plan, plan.input.files, { reject }).sql
  const keys = dimensions.map((_, index) => nameOfDimension(index))
  const time = `${storedTimeSql(spec, 'instant')} AS __time`
  const order = ['status', '__time', ...keys].join(', ')
  if (!spec.rollup) {
    const values = spec.metrics.map((_, index) => nameOfMetric(index))
    const columns = ['status', time, ...keys, ...values, '1::BIGINT AS input_rows']
    return `CREATE TABLE ${rowsTable} AS SELECT ${columns.join(', ')} FROM (${checked}) ORDER BY ${order}`
  }
  const metrics = spec.metrics.map(
    (metric, index) => `${aggregateSql(metric, nameOfMetric(index))} AS ${nameOfMetric(index)}`,
  )
  const columns = ['status', time, ...keys, ...metrics, 'count(*) AS input_rows']
  return `CREATE TABLE ${rowsTable} AS SELECT ${columns.join(', ')} FROM (${checked}) GROUP BY ${order} ORDER BY ${order}`
}

function describeValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'Missing value'
  const text = String(value)
  return `Invalid value [${text.length > maxShownValueLength ? `${text.slice(0, maxShownValueLength)}…` : text}]`
}

function describeRow(
  plan: RowsPlan,
  columns: readonly CheckedColumn[],
  file: InputFile,
  row: Record<string, unknown>,
): string {
  const where = `row [${row.row}] of file [${file.title}]`
  const code = Number(row.status)
  if (code === status.broken) return `Invalid ${where}: expected a JSON object`
  if (code === status.time) {
    const { column, format } = plan.spec.timestamp
    return `${describeValue(row.reported)} for timestamp column [${column}] in ${where}: expected format [${format}]`
  }
  const column = columns[code - status.firstColumn]
  return `${describeValue(row.reported)} for column [${column?.name}] in ${where}: expected a ${column?.type}`
}

/** Finds the first invalid rows. Reads the input a second time, so only tasks with invalid rows pay for it. */
async function describeRows(plan: RowsPlan, engine: Engine): Promise<string[]> {
  const described: string[] = []
  for (const file of plan.input.files) {
    const left = maxListedExceptions - described.length
    if (left === 0) break
    const { sql, columns } = selectChecked(plan, [file], 'skip')
    const rows = await engine.rows(
      `SELECT row, status, reported FROM (SELECT row_number() OVER () AS row, status, reported FROM (${sql}))
       WHERE status >= ${status.broken} ORDER BY row LIMIT ${left}`,
    )
    described.push(...rows.map((row) => describeRow(plan, columns, file, row)))
  }
  return described
}

async function describeRejects(
  plan: RowsPlan,
  engine: Engine,
): Promise<{ count: number; described: string[] }> {
  const format = plan.spec.inputFormat.type
  if (format !== 'csv' && format !== 'tsv') return { count: 0, described: [] }
  const rejected = `SELECT s.file_path, e.line, min(e.error_message) AS problem
    FROM reject_errors e JOIN reject_scans s USING (scan_id, file_id) GROUP BY s.file_path, e.line`
  const tables = await engine.rows(
    `SELECT count(*) AS n FROM duckdb_tables() WHERE table_name IN ('reject_errors', 'reject_scans')`,
  )
  if (Number(tables[0]?.n) < 2) return { count: 0, described: [] }
  const [total] = await engine.rows(`SELECT count(*) AS n FROM (${rejected})`)
  const rows = await engine.rows(`${rejected} ORDER BY s.file_path, e.line LIMIT ${maxListedExceptions}`)
  const described = rows.map((row) => {
    const file = plan.input.files.find(({ path }) => path === row.file_path)
    return `Invalid line [${row.line}] of file [${file?.title}]: ${String(row.problem).split('\n')[0]}`
  })
  return { count: Number(total?.n), described }
}

/**
 * Reads the entire input into the rows table: parses timestamps, converts values to their types, rolls up if requested,
 * and sorts by time and dimensions. If there are more invalid rows than the task allows, throws an invalidInput Failure
 * that reports the first one, with only its invalid value.
 */
export async function readRows(plan: RowsPlan, engine: Engine): Promise<RowCounts> {
  const { spec, input } = plan
  const { column, missingValueMs } = spec.timestamp
  if (
    input.knownColumns !== undefined &&
    missingValueMs === undefined &&
    !input.knownColumns.includes(column)
  ) {
    const known = input.knownColumns.slice(0, 20).join(', ')
    if (input.knownColumns.length > 0) {
      throw invalidInput(
        `Invalid value [${column}] for [spec.dataSchema.timestampSpec.column]: expected one of the input columns [${known}]`,
        { field: 'spec.dataSchema.timestampSpec.column' },
      )
    }
  }
  await engine.run(createTableSql(plan))
  const counts = new Map<number, number>()
  for (const row of await engine.rows(
    `SELECT status, sum(input_rows)::BIGINT AS n FROM ${rowsTable} GROUP BY status`,
  )) {
    counts.set(Number(row.status), Number(row.n))
  }
  const rejects = await describeRejects(plan, engine)
  const read = [...counts.values()].reduce((sum, n) => sum + n, 0)
  const stored = counts.get(status.stored) ?? 0
  const thrownAway = counts.get(status.outside) ?? 0
  const unparseable = read - stored - thrownAway
  const parseExceptions = [...rejects.described, ...(unparseable > 0 ? await describeRows(plan, engine) : [])]
  if (unparseable + rejects.count > spec.maxParseExceptions) {
    throw invalidInput(
      `The input has more than [${spec.maxParseExceptions}] invalid rows, the limit set by [spec.tuningConfig.maxParseExceptions]. First invalid row: ${parseExceptions[0]}`,
      { field: 'spec.tuningConfig.maxParseExceptions' },
    )
  }
  return {
    rowsRead: read + rejects.count,
    rowsUnparseable: unparseable + rejects.count,
    rowsThrownAway: thrownAway,
    parseExceptions: parseExceptions.slice(0, maxListedExceptions),
    columnsInNoRow: stored > 0 ? await findColumnsInNoRow(plan, engine) : [],
  }
}

/** Returns the named columns that no stored row has. */
async function findColumnsInNoRow(plan: RowsPlan, engine: Engine): Promise<string[]> {
  const { spec, input, dimensions } = plan
  const named = new Map([
    ...spec.metrics.flatMap(({ type, fieldName }, index): [string, string][] =>
      type === 'count' ? [] : [[fieldName, nameOfMetric(index)]],
    ),
    // Discovered dimensions are in at least one row.
    ...(spec.dimensions.length > 0 ? dimensions : []).map(({ name }, index): [string, string] => [
      name,
      nameOfDimension(index),
    ]),
  ])
  const { knownColumns } = input
  if (knownColumns !== undefined) return [...named.keys()].filter((name) => !knownColumns.includes(name))
  if (named.size === 0) return []
  const isThere = [...named.values()].map((short) => `count(${short}) > 0 AS ${short}`)
  const [found = {}] = await engine.rows(`SELECT ${isThere.join(', ')} FROM ${rowsTable} WHERE ${isStored}`)
  return [...named].filter(([, short]) => found[short] !== true).map(([name]) => name)
}

/** Returns the stored columns of the rows table, except the time: the short name and the name in the segment. */
export function storedColumns(plan: RowsPlan): { short: string; name: string }[] {
  return [
    ...plan.dimensions.map(({ name }, index) => ({ short: nameOfDimension(index), name })),
    ...plan.spec.metrics.map(({ name }, index) => ({ short: nameOfMetric(index), name })),
  ]
}

/** SQL that is true for the rows of the rows table that are stored in segments. */
export const isStored = `status = ${status.stored}`
