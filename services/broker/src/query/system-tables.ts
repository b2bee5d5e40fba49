import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { forbidden } from '@svc/domain/failure'
import { ruleBoundariesOf } from '@svc/domain/rules'
import { formatInstant } from '@svc/domain/time'
import { analyzeTimeline, separateParts } from '@svc/domain/timeline'
import {
  loadDatasourceNames,
  loadPayloads,
  loadRules,
  loadStoredSegments,
  pagesOfReadableTasks,
  type StoredSegment,
  type StoredTask,
} from '@svc/shared/postgres'
import { accessTo, type Caller, permittedItems, permittedNames } from '@svc/shared/security'
import { type SegmentHolders, segmentHoldersPath } from '@svc/shared/segment-serving'
import { withExactLimits } from '@svc/shared/wire'
import type { TableSources } from './prepare-tables.ts'

/** A column of a datasource, as INFORMATION_SCHEMA shows it. */
export interface DescribedColumn {
  readonly name: string
  /** The SQL type: VARCHAR, BIGINT, FLOAT, DOUBLE, BOOLEAN, or TIMESTAMP. */
  readonly type: string
}

/** What the rows of system tables are computed from, for one caller. */
export interface SystemTableInput {
  readonly sources: TableSources
  readonly caller: Caller
  readonly signal: AbortSignal
  /** The name of the catalog, which is also the schema of the datasources. */
  readonly word: string
  /** Returns the columns of datasources, read from their newest segments. */
  columnsOf(dataSources: readonly string[]): Promise<ReadonlyMap<string, readonly DescribedColumn[]>>
}

/** A row of a system table, by column. */
export type SystemRow = Readonly<Record<string, unknown>>

/** A system table: its columns with their SQL types, and the rows that the caller may see. */
export interface SystemTable {
  readonly schema: 'sys' | 'information_schema'
  readonly name: string
  readonly columns: Readonly<Record<string, string>>
  rows(input: SystemTableInput): AsyncIterable<SystemRow> | Promise<Iterable<SystemRow>>
}

const payloadsAtOnce = 5000
const segmentsAtOnce = 5000

const text = 'VARCHAR'
const bigintType = 'BIGINT'

/** Returns the columns of a definition: names separated by spaces, where `#` marks BIGINT columns. */
const columns = (definition: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    definition
      .trim()
      .split(/\s+/)
      .map((column) => (column.endsWith('#') ? [column.slice(0, -1), bigintType] : [column, text])),
  )

function assertReadsState(caller: Caller, table: string): void {
  if (caller.can('READ', 'STATE', 'STATE')) return
  throw forbidden(`Table [sys.${table}] requires permission [READ] on [STATE]`)
}

async function readableDatasources({ sources, caller }: SystemTableInput): Promise<string[]> {
  return await permittedNames(caller, await loadDatasourceNames(sources.context.database, false))
}

async function* segmentRows(input: SystemTableInput): AsyncIterable<SystemRow> {
  const { context, view, own } = input.sources
  const { database, clock, discovery } = context
  await view.catchUp()
  const rules = await loadRules(database, input.sources.parsedRules)
  // Virtual servers are not processes, so the view cannot follow them. The coordinator knows what they serve.
  const historicals = context.settings.get('svc.simulation.enabled')
    ? new Set(
        (await listedServers(input)).filter(({ type }) => type === 'historical').map(({ host }) => host),
      )
    : undefined
  const servers = historicals?.size ?? discovery.nodes('historical').length
  for (const dataSource of await readableDatasources(input)) {
    const segments = await loadStoredSegments(database, { dataSource, used: true })
    const copies = historicals && (await copiesOn(historicals, input, dataSource))
    const overshadowed = await overshadowedOf(segments)
    const boundaries = ruleBoundariesOf(rules, dataSource, clock.now())
    const factorOf = boundaries.replicaCounter(servers)
    for (let from = 0; from < segments.length; from += payloadsAtOnce) {
      input.signal.throwIfAborted()
      const part = segments.slice(from, from + payloadsAtOnce)
      const payloads = await loadPayloads(
        database,
        part.map(({ id }) => id),
      )
      for (const segment of part) {
        const { id, interval, version, partitionNum, sizeBytes, totalRows } = segment
        const payload = payloads.get(id)
        if (!payload) continue
        const isOvershadowed = overshadowed.has(segment) ? 1 : 0
        const replicas = copies ? (copies.get(id) ?? 0) : view.replicasOf(id)
        yield {
          segment_id: id,
          datasource: dataSource,
          start: formatInstant(interval.start),
          end: formatInstant(interval.end),
          size: sizeBytes,
          version,
          partition_num: partitionNum,
          num_replicas: replicas,
          num_rows: totalRows,
          is_active: 1 - isOvershadowed,
          is_published: 1,
          is_available: replicas > 0 || own.fileOf(id) !== undefined ? 1 : 0,
          is_realtime: 0,
          is_overshadowed: isOvershadowed,
          shard_spec: JSON.stringify(payload.shardSpec),
          dimensions: JSON.stringify(payload.dimensions.split(',').filter(Boolean)),
          metrics: JSON.stringify(payload.metrics.split(',').filter(Boolean)),
          last_compaction_state: compactionStateOf(payload),
          // An overshadowed segment has no rule.
          replication_factor: isOvershadowed === 1 ? 0 : factorOf(boundaries.match(interval)),
        }
      }
    }
  }
}

/** Returns the overshadowed segments of a datasource. Does not block other requests. */
async function overshadowedOf(segments: readonly StoredSegment[]): Promise<ReadonlySet<StoredSegment>> {
  const found = new Set<StoredSegment>()
  for (const part of separateParts(segments, segmentsAtOnce)) {
    const { overshadowed } = analyzeTimeline(part)
    for (const [index, segment] of part.entries()) if (overshadowed[index]) found.add(segment)
    if (segments.length > segmentsAtOnce) await setImmediate()
  }
  return found
}

/** Returns how many of the given servers hold each segment of a datasource. Segments that no server holds are left out. */
async function copiesOn(
  servers: ReadonlySet<string>,
  input: SystemTableInput,
  dataSource: string,
): Promise<Map<string, number>> {
  const copies = new Map<string, number>()
  for await (const [id, ...holders] of segmentHolders(input, dataSource))
    copies.set(id, holders.filter((holder) => servers.has(holder)).length)
  return copies
}

function compactionStateOf(payload: object): string | null {
  const state = (payload as { lastCompactionState?: unknown }).lastCompactionState
  return state === undefined || state === null ? null : withExactLimits(JSON.stringify(state))
}

/** A server that holds segments, as the coordinator lists it. Virtual servers are not processes. */
interface ListedServer {
  readonly host: string
  readonly type: string
  readonly tier: string
  readonly currSize: number
  readonly maxSize: number
}

const listedServers = ({ sources, signal }: SystemTableInput): Promise<ListedServer[]> =>
  sources.context.client.callLeader<ListedServer[]>('coordinator', {
    method: 'GET',
    path: '/svc/coordinator/v1/servers?simple',
    signal,
  })

/** Returns the used segments of a datasource that any server holds, with the server names, as the coordinator knows them. */
async function* segmentHolders(
  { sources, signal }: SystemTableInput,
  dataSource: string,
): AsyncIterable<SegmentHolders> {
  const { client, discovery } = sources.context
  const body = await client.open(discovery.leader('coordinator').baseUrl, {
    method: 'GET',
    path: `${segmentHoldersPath}?dataSource=${encodeURIComponent(dataSource)}`,
    signal,
  })
  try {
    for await (const line of createInterface({ input: body })) yield JSON.parse(line) as SegmentHolders
  } finally {
    body.destroy()
  }
}

async function serverRows(input: SystemTableInput): Promise<SystemRow[]> {
  assertReadsState(input.caller, 'servers')
  const { discovery } = input.sources.context
  await discovery.refresh()
  const listed = new Map((await listedServers(input)).map((server) => [server.host, server]))
  const nodes = (['coordinator', 'overlord', 'broker', 'historical', 'router', 'worker'] as const).flatMap(
    (role) =>
      discovery.nodes(role).flatMap(({ name, host, plaintextPort, tlsPort, details: { tier } }) => {
        // A historical that runs virtual servers holds nothing itself, so only its virtual servers are listed.
        if (role === 'historical' && tier === null) return []
        const hasLeader = role === 'coordinator' || role === 'overlord'
        const isLeader = hasLeader && discovery.hasLeader(role) && discovery.leader(role).node === name
        return {
          server: name,
          host,
          plaintext_port: plaintextPort ?? -1,
          tls_port: tlsPort ?? -1,
          server_type: role as string,
          tier: typeof tier === 'string' ? tier : null,
          is_leader: hasLeader ? (isLeader ? 1 : 0) : null,
        }
      }),
  )
  const processes = new Set(nodes.map(({ server }) => server))
  const virtual = [...listed.values()]
    .filter(({ host }) => !processes.has(host))
    .map(({ host, type, tier }) => ({
      server: host,
      host,
      plaintext_port: -1,
      tls_port: -1,
      server_type: type,
      tier,
      is_leader: null,
    }))
  return [...nodes, ...virtual].map((row) => {
    const held = listed.get(row.server)
    return {
      ...row,
      tier: held?.tier ?? row.tier,
      curr_size: held?.currSize ?? 0,
      max_size: held?.maxSize ?? 0,
    }
  })
}

async function* serverSegmentRows(input: SystemTableInput): AsyncIterable<SystemRow> {
  assertReadsState(input.caller, 'server_segments')
  await input.sources.context.discovery.refresh()
  for (const dataSource of await readableDatasources(input)) {
    for await (const [segmentId, ...servers] of segmentHolders(input, dataSource))
      for (const server of servers) yield { server, segment_id: segmentId }
  }
}

async function* taskRows({ sources, caller, signal }: SystemTableInput): AsyncIterable<SystemRow> {
  for await (const page of pagesOfReadableTasks(sources.context.database, (names) =>
    accessTo(caller, names),
  )) {
    signal.throwIfAborted()
    yield* page.map(describeTask)
  }
}

function describeTask(task: StoredTask): SystemRow {
  const { workerHost: host, workerPort, workerTlsPort, state } = task
  const port = workerTlsPort ?? workerPort
  const isOver = state === 'SUCCESS' || state === 'FAILED'
  return {
    task_id: task.shownId,
    group_id: task.groupId,
    type: task.type,
    datasource: task.dataSource,
    created_time: formatInstant(task.createdAt),
    queue_insertion_time: formatInstant(task.createdAt),
    status: isOver ? state : 'RUNNING',
    runner_status: isOver ? 'NONE' : state,
    duration: task.durationMs ?? 0,
    location: host === null ? null : `${host}:${port ?? -1}`,
    host,
    plaintext_port: workerPort ?? -1,
    tls_port: workerTlsPort ?? -1,
    error_msg: task.errorMessage,
  }
}

interface ReportedSupervisor {
  readonly id: string
  readonly dataSource?: string
  readonly state?: string
  readonly detailedState?: string
  readonly healthy?: boolean
  readonly suspended?: boolean
  readonly spec?: { readonly type?: string; readonly dataSource?: string }
}

async function supervisorRows({ sources, caller, signal }: SystemTableInput): Promise<SystemRow[]> {
  const supervisors = await sources.context.client.callLeader<ReportedSupervisor[]>('overlord', {
    method: 'GET',
    path: '/svc/indexer/v1/supervisor?full',
    signal,
  })
  const known = supervisors.flatMap(({ dataSource, ...one }) =>
    dataSource === undefined ? [] : [{ ...one, dataSource }],
  )
  const readable = await permittedItems(caller, known, ({ dataSource }) => dataSource)
  return readable.map(({ id, dataSource, state, detailedState, healthy, suspended, spec }) => ({
    supervisor_id: id,
    datasource: dataSource,
    state: state ?? null,
    detailed_state: detailedState ?? null,
    healthy: healthy ? 1 : 0,
    type: spec?.type ?? null,
    source: dataSource,
    suspended: suspended ? 1 : 0,
    spec: spec === undefined ? null : JSON.stringify(spec),
  }))
}

/** Returns the tables that the caller may see. The columns of datasources are included only if `withColumns` is set. */
async function knownTables(input: SystemTableInput, withColumns: boolean) {
  const names = await readableDatasources(input)
  const described = withColumns ? await input.columnsOf(names) : new Map<string, DescribedColumn[]>()
  return [
    ...systemTables
      .filter(({ schema }) => schema === 'information_schema')
      .map((table) => ({ schema: 'INFORMATION_SCHEMA', table })),
    ...systemTables.filter(({ schema }) => schema === 'sys').map((table) => ({ schema: 'sys', table })),
  ]
    .map(({ schema, table }) => ({
      schema,
      name: table.name,
      type: 'SYSTEM_TABLE',
      columns: Object.entries(table.columns).map(([name, type]) => ({ name, type })),
    }))
    .concat(
      names.map((name) => ({
        schema: input.word,
        name,
        type: 'TABLE',
        columns: [...(described.get(name) ?? [])],
      })),
    )
}

async function tableRows(input: SystemTableInput): Promise<SystemRow[]> {
  return (await knownTables(input, false)).map(({ schema, name, type }) => ({
    TABLE_CATALOG: input.word,
    TABLE_SCHEMA: schema,
    TABLE_NAME: name,
    TABLE_TYPE: type,
    IS_JOINABLE: 'YES',
    IS_BROADCAST: 'NO',
  }))
}

// The codes of java.sql.Types, which clients of Druid read.
const jdbcTypes: Readonly<Record<string, number>> = {
  VARCHAR: 12,
  BIGINT: -5,
  FLOAT: 6,
  DOUBLE: 8,
  BOOLEAN: 16,
  TIMESTAMP: 93,
}

async function* columnRows(input: SystemTableInput): AsyncIterable<SystemRow> {
  for (const { schema, name, columns: described } of await knownTables(input, true))
    for (const [index, column] of described.entries())
      yield {
        TABLE_CATALOG: input.word,
        TABLE_SCHEMA: schema,
        TABLE_NAME: name,
        COLUMN_NAME: column.name,
        ORDINAL_POSITION: index + 1,
        COLUMN_DEFAULT: '',
        IS_NULLABLE: column.name === '__time' ? 'NO' : 'YES',
        DATA_TYPE: column.type,
        CHARACTER_MAXIMUM_LENGTH: null,
        CHARACTER_OCTET_LENGTH: null,
        NUMERIC_PRECISION: column.type === 'BIGINT' ? 19 : column.type === 'DOUBLE' ? 15 : null,
        NUMERIC_PRECISION_RADIX: column.type === 'BIGINT' || column.type === 'DOUBLE' ? 10 : null,
        NUMERIC_SCALE: column.type === 'BIGINT' ? 0 : null,
        DATETIME_PRECISION: column.type === 'TIMESTAMP' ? 3 : null,
        CHARACTER_SET_NAME: null,
        COLLATION_NAME: null,
        JDBC_TYPE: jdbcTypes[column.type] ?? 1111,
      }
}

async function schemaRows({ word }: SystemTableInput): Promise<SystemRow[]> {
  return [word, 'INFORMATION_SCHEMA', 'sys'].map((schema) => ({
    CATALOG_NAME: word,
    SCHEMA_NAME: schema,
    SCHEMA_OWNER: null,
    DEFAULT_CHARACTER_SET_CATALOG: null,
    DEFAULT_CHARACTER_SET_SCHEMA: null,
    DEFAULT_CHARACTER_SET_NAME: null,
    SQL_PATH: null,
  }))
}

/** All system tables, with the columns that Druid 37 documents. */
const systemTables: readonly SystemTable[] = [
  {
    schema: 'information_schema',
    name: 'SCHEMATA',
    columns: columns(`CATALOG_NAME SCHEMA_NAME SCHEMA_OWNER DEFAULT_CHARACTER_SET_CATALOG
      DEFAULT_CHARACTER_SET_SCHEMA DEFAULT_CHARACTER_SET_NAME SQL_PATH`),
    rows: schemaRows,
  },
  {
    schema: 'information_schema',
    name: 'TABLES',
    columns: columns('TABLE_CATALOG TABLE_SCHEMA TABLE_NAME TABLE_TYPE IS_JOINABLE IS_BROADCAST'),
    rows: tableRows,
  },
  {
    schema: 'information_schema',
    name: 'COLUMNS',
    columns:
      columns(`TABLE_CATALOG TABLE_SCHEMA TABLE_NAME COLUMN_NAME ORDINAL_POSITION# COLUMN_DEFAULT IS_NULLABLE
      DATA_TYPE CHARACTER_MAXIMUM_LENGTH# CHARACTER_OCTET_LENGTH# NUMERIC_PRECISION# NUMERIC_PRECISION_RADIX#
      NUMERIC_SCALE# DATETIME_PRECISION# CHARACTER_SET_NAME COLLATION_NAME JDBC_TYPE#`),
    rows: columnRows,
  },
  {
    schema: 'sys',
    name: 'segments',
    columns:
      columns(`segment_id datasource start end size# version partition_num# num_replicas# num_rows# is_active#
      is_published# is_available# is_realtime# is_overshadowed# shard_spec dimensions metrics last_compaction_state
      replication_factor#`),
    rows: segmentRows,
  },
  {
    schema: 'sys',
    name: 'servers',
    columns: columns(
      'server host plaintext_port# tls_port# server_type tier curr_size# max_size# is_leader#',
    ),
    rows: serverRows,
  },
  {
    schema: 'sys',
    name: 'server_segments',
    columns: columns('server segment_id'),
    rows: serverSegmentRows,
  },
  {
    schema: 'sys',
    name: 'tasks',
    columns:
      columns(`task_id group_id type datasource created_time queue_insertion_time status runner_status duration#
      location host plaintext_port# tls_port# error_msg`),
    rows: taskRows,
  },
  {
    schema: 'sys',
    name: 'supervisors',
    columns: columns('supervisor_id datasource state detailed_state healthy# type source suspended# spec'),
    rows: supervisorRows,
  },
]

/** Returns the system table with a name, ignoring case. */
export function findSystemTable(schema: string, name: string): SystemTable | undefined {
  return systemTables.find(
    (table) => table.schema === schema && table.name.toLowerCase() === name.toLowerCase(),
  )
}
