import type { ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { notFound } from '@svc/domain/failure'
import { jsonListOfTexts, jsonObjectOfTexts } from '@svc/domain/json'
import { type AnswerPlan, isWithinAny } from '@svc/domain/querying'
import { eternity, formatInstant, type Interval, joinIntervals, parseInterval } from '@svc/domain/time'
import {
  checked,
  described,
  hasControlCharacter,
  isJsonObject,
  omittable,
  optional,
  type Reader,
  readByType,
  readCount,
  readDatasourceName,
  readFields,
  readList,
  readOneOf,
  readText,
  refuse,
  schemaOf,
  titled,
} from '@svc/domain/validation'
import { identifier } from '@svc/shared/duckdb'
import { assertAccess } from '@svc/shared/security'
import { nativeScalarType, type QuerySession } from '../query-processes/index.ts'
import { type ColumnTypes, filterSql, intervalsSql } from './native-filter.ts'
import { ownText } from './own-text.ts'
import { type PreparedTable, prepareTables } from './prepare-tables.ts'
import { limited } from './request-limits.ts'
import {
  type CallerQuery,
  limitsOf,
  notLoadedOf,
  type QueryEngine,
  queryRows,
  withSession,
} from './run-statement.ts'
import { batchRows } from './scan-batches.ts'
import { readQueryContext } from './sql-request.ts'

const readColumnName = checked(
  readText,
  (name) => !hasControlCharacter(name),
  'a name without control characters',
)
const readTable = readFields(
  { type: readOneOf(['table']), name: readDatasourceName },
  { ignoresOthers: true },
)
const readDataSource: Reader<string> = described(
  { anyOf: [schemaOf(readDatasourceName), schemaOf(readTable)] },
  (json, field) => {
    if (typeof json === 'string') return readDatasourceName(json, field)
    try {
      return readTable(json, field).name
    } catch {
      throw refuse(field, json, 'a datasource name or {"type": "table", "name": "<datasource>"}')
    }
  },
)
const readTexts = readList(readText)
const readIntervalsSpec = readFields(
  { type: omittable(readText), intervals: readTexts },
  { ignoresOthers: true },
)
const readIntervals: Reader<readonly string[]> = described(
  { anyOf: [schemaOf(readText), schemaOf(readTexts), schemaOf(readIntervalsSpec)] },
  (json, field) => {
    try {
      if (typeof json === 'string') return [json]
      return isJsonObject(json) ? readIntervalsSpec(json, field).intervals : readTexts(json, field)
    } catch {
      throw refuse(field, json, 'an interval or a list of intervals')
    }
  },
)

const common = {
  dataSource: readDataSource,
  intervals: omittable(readIntervals),
  filter: described({}, (json: unknown) => json),
  context: readQueryContext,
}
const readColumns = checked(
  readList(readColumnName, { expected: 'a list of column names' }),
  (names) => new Set(names.map((name) => name.toLowerCase())).size === names.length,
  'a list of column names without duplicates',
)
const readScanQuery = readFields({
  queryType: readOneOf(['scan']),
  columns: optional(readColumns),
  resultFormat: omittable(readOneOf(['list', 'compactedList']), 'list'),
  batchSize: omittable(readCount(1), 20_480),
  limit: optional(readCount(0)),
  offset: omittable(readCount(0), 0),
  order: omittable(readOneOf(['none', 'ascending', 'descending']), 'none'),
  legacy: optional(
    described({ const: false }, (json, field) => {
      if (json !== false) throw refuse(field, json, '[false]')
      return json
    }),
  ),
  ...common,
})
const readTimeBoundaryQuery = readFields({
  queryType: readOneOf(['timeBoundary']),
  bound: optional(readOneOf(['minTime', 'maxTime'])),
  ...common,
})
const readMetadataQuery = readFields({ queryType: readOneOf(['dataSourceMetadata']), ...common })

type ScanQuery = ReturnType<typeof readScanQuery>

/** A native query. */
export type NativeQuery =
  | ScanQuery
  | ReturnType<typeof readTimeBoundaryQuery>
  | ReturnType<typeof readMetadataQuery>

/** Reads a native query. */
export const readNativeQuery: Reader<NativeQuery> = titled(
  'NativeQuery',
  limited(
    readByType<NativeQuery>(
      {
        timeBoundary: readTimeBoundaryQuery,
        dataSourceMetadata: readMetadataQuery,
        scan: readScanQuery,
      },
      {
        typeField: 'queryType',
        expected: 'an object',
        expectedType: 'one of [timeBoundary, dataSourceMetadata, scan]; use [/svc/v2/sql] for other queries',
      },
    ),
  ),
)

/** Runs a native query and writes the result to the response. `begin` writes the response head. */
export async function runNativeQuery(
  engine: QueryEngine,
  query: NativeQuery,
  { caller, signal, onRead }: Pick<CallerQuery, 'caller' | 'signal' | 'onRead'>,
  response: ServerResponse,
  begin: (notLoaded: Readonly<Record<string, number>>) => void,
): Promise<void> {
  const { dataSource } = query
  await assertAccess(caller, dataSource)
  onRead([dataSource])
  const times = query.intervals && (await timesOf(query.intervals))
  await withSession(engine, { caller, signal }, async (session, folder) => {
    const prepared = await prepareTables(engine.sources, [dataSource], {
      // The latest ingested event is the latest of all times.
      timesOf: () => (query.queryType === 'dataSourceMetadata' ? undefined : times),
      fromDeepStorage: query.context.fromDeepStorage,
      signal: session.signal,
      onUnknown: (name) => notFound(`Datasource [${name}] does not exist`, { dataSource: name }),
    })
    try {
      const table = prepared.tables[0] as PreparedTable
      const run = {
        engine,
        session,
        folder,
        table,
        intervals: times ? timesWithin(times, table.plan) : [eternity],
      }
      if (query.queryType === 'scan') {
        await scan(run, query, response, () => begin(notLoadedOf(prepared)))
      } else {
        const answer =
          query.queryType === 'timeBoundary'
            ? await timeBoundary(run, query.filter, query.bound ?? undefined)
            : await dataSourceMetadata(run)
        begin(notLoadedOf(prepared))
        response.write(JSON.stringify(answer))
      }
    } finally {
      prepared.release()
    }
  })
}

// Intervals to parse before other requests get a turn.
const intervalsAtOnce = 500

/** Returns the intervals, merged and sorted, or undefined for an empty list, which means all of time. */
async function timesOf(texts: readonly string[]): Promise<readonly Interval[] | undefined> {
  if (texts.length === 0) return undefined
  const times: Interval[] = []
  for (const [index, text] of texts.entries()) {
    times.push(parseInterval(text, `intervals[${index}]`))
    if (index % intervalsAtOnce === intervalsAtOnce - 1) await setImmediate()
  }
  return joinIntervals(times)
}

/** Returns the times that segments of the plan contain. Each of them costs DuckDB time for each row. */
export function timesWithin(times: readonly Interval[], { answering }: AnswerPlan): readonly Interval[] {
  const withRows = joinIntervals(answering.flatMap(({ segment, within }) => within ?? [segment.interval]))
  return times.filter((time) => isWithinAny(withRows, time))
}

interface NativeRun {
  readonly engine: QueryEngine
  readonly session: QuerySession
  readonly folder: string
  readonly table: PreparedTable
  readonly intervals: readonly Interval[]
}

async function columnsOf({ engine, session, folder, table }: NativeRun): Promise<ColumnTypes> {
  const rows = await queryRows(engine, session, folder, {
    sql: `SELECT column_name AS name, column_type AS type FROM (DESCRIBE svc.${identifier(table.dataSource)})`,
    datasources: [table.relation],
  })
  return new Map(rows.map(({ name, type }) => [String(name), String(type)]))
}

async function whereSql(run: NativeRun, filter: unknown, columns?: ColumnTypes): Promise<string> {
  const inIntervals = intervalsSql(run.intervals)
  if (filter === undefined || filter === null) return inIntervals
  return `${inIntervals} AND ${filterSql(filter, columns ?? (await columnsOf(run)))}`
}

async function timeBoundary(run: NativeRun, filter: unknown, bound: 'minTime' | 'maxTime' | undefined) {
  const { engine, session, folder, table } = run
  const [row = {}] = await queryRows(engine, session, folder, {
    sql: `SELECT epoch_ms(min(__time)) AS "minTime", epoch_ms(max(__time)) AS "maxTime"
      FROM svc.${identifier(table.dataSource)} WHERE ${await whereSql(run, filter)}`,
    datasources: [table.relation],
  })
  if (row.minTime === null || row.minTime === undefined) return []
  const minTime = formatInstant(Number(row.minTime))
  const maxTime = formatInstant(Number(row.maxTime))
  if (bound === 'minTime') return [{ timestamp: minTime, result: { minTime } }]
  if (bound === 'maxTime') return [{ timestamp: maxTime, result: { maxTime } }]
  return [{ timestamp: minTime, result: { minTime, maxTime } }]
}

async function dataSourceMetadata(run: NativeRun) {
  const { engine, session, folder, table } = run
  const [row = {}] = await queryRows(engine, session, folder, {
    sql: `SELECT epoch_ms(max(__time)) AS "maxTime" FROM svc.${identifier(table.dataSource)}`,
    datasources: [table.relation],
  })
  if (row.maxTime === null || row.maxTime === undefined) return []
  const latest = table.plan.answering.reduce(
    (start, { segment }) => Math.max(start, segment.interval.start),
    -Infinity,
  )
  return [
    {
      timestamp: formatInstant(latest),
      result: { maxIngestedEventTime: formatInstant(Number(row.maxTime)) },
    },
  ]
}

/** Returns an unused column name for the path of a row's file. The column is removed before rows are returned. */
function unusedName(columns: readonly string[]): string {
  const used = new Set(columns.map((column) => column.toLowerCase()))
  let name = '__svc_file'
  while (used.has(name)) name += '_'
  return name
}

// Events are UTF-8 bytes read as latin1, one character per byte. The JSON around them must have the same form.
const latin1Of = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('latin1')

async function scan(
  run: NativeRun,
  query: ScanQuery,
  response: ServerResponse,
  begin: () => void,
): Promise<void> {
  const { engine, session, folder, table } = run
  const types = await columnsOf(run)
  const columns = query.columns && query.columns.length > 0 ? query.columns : [...types.keys()]
  const fileColumn = unusedName([...types.keys(), ...columns])
  const selected = columns.map((name) => {
    const column = types.has(name) ? identifier(name) : 'NULL::VARCHAR'
    return `${name === '__time' ? `epoch_ms(${column})` : column} AS ${identifier(name)}`
  })
  const order = { none: '', ascending: 'ORDER BY __time', descending: 'ORDER BY __time DESC' }[query.order]
  const limit = query.limit === undefined || query.limit === null ? '' : `LIMIT ${query.limit}`
  const isList = query.resultFormat === 'list'
  const segmentOf = new Map(
    table.plan.answering.map(({ segment }, index) => [table.relation.files[index]?.path ?? '', segment.id]),
  )
  const rowSignature = columns.map((name) => ({
    name,
    type: nativeScalarType(types.get(name) ?? 'VARCHAR'),
  }))
  const columnsText = latin1Of(columns)
  const signatureText = latin1Of(rowSignature)
  const batchText = (path: string, events: readonly string[]): string =>
    jsonObjectOfTexts([
      ['segmentId', latin1Of(segmentOf.get(path) ?? '')],
      ['columns', columnsText],
      ['events', jsonListOfTexts(events)],
      ['rowSignature', signatureText],
    ])
  const rows = new PassThrough()
  let sent: Promise<void> | undefined
  await session.run(
    {
      schema: 'svc',
      ...ownText(`SELECT ${[identifier(fileColumn), ...selected].join(', ')} FROM svc.${identifier(table.dataSource)}
        WHERE ${await whereSql(run, query.filter, types)} ${order} ${limit} OFFSET ${query.offset}`),
      parameters: [],
      datasources: [{ ...table.relation, fileColumn }],
      systemTables: [],
      style: {
        format: isList ? 'objectLines' : 'arrayLines',
        header: false,
        typesHeader: false,
        sqlTypesHeader: false,
      },
      ...limitsOf(engine.sources.context.settings, folder),
    },
    () => {
      begin()
      const batches = (chunks: AsyncIterable<Buffer>) =>
        batchRows(chunks, {
          batchSize: query.batchSize,
          headSizeBytes: columnsText.length + signatureText.length,
          fileColumn: isList ? fileColumn : undefined,
          batchText,
        })
      sent = pipeline(rows, batches, response, { end: false })
      // If the query fails too, its failure is the one to report.
      sent.catch(() => undefined)
      return rows
    },
  )
  rows.end()
  await sent
}
