import { createHash } from 'node:crypto'
import {
  assertRunnableBy,
  type ClusterCompactionConfig,
  type CompactionConfig,
  canonicalText,
  clusterConfigOf,
  formatClusterConfig,
  formatCompactionConfig,
  parseCompactionConfig,
} from '@svc/domain/compaction'
import { notFound } from '@svc/domain/failure'
import type { Interval } from '@svc/domain/time'
import { finishInSlices } from '../slices/index.ts'
import { withExactLimits } from '../wire/index.ts'
import { type AuditEntry, saveAudit, storableSeconds } from './audit.ts'
import { type Database, type Queries, sql, type Transaction } from './database.ts'
import type { ReadableNames } from './tasks.ts'

/** Checks the configuration that a change replaces (undefined if there is none), and prevents the change if it throws. */
export type CheckReplaced = (replaced: CompactionConfig | undefined) => void

type Author = Omit<AuditEntry, 'type' | 'key' | 'payload'>

/** Name of the cluster compaction config among the dynamic configurations. */
const clusterConfigName = 'compaction.cluster'

// Changes are sequential: each one starts from the result of the previous one.
const changeLock = 2

async function change<Result>(
  database: Database,
  run: (transaction: Transaction, cluster: ClusterCompactionConfig) => Promise<Result>,
): Promise<Result> {
  return await database.transaction(async (transaction) => {
    await transaction.query(
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${clusterConfigName}, ${changeLock}))`,
    )
    return await run(transaction, await loadClusterCompactionConfig(transaction))
  })
}

/** Returns the cluster compaction config; the defaults if none is stored. */
export async function loadClusterCompactionConfig(queries: Queries): Promise<ClusterCompactionConfig> {
  const [row] = await queries.query<{ value: string }>(
    sql`SELECT value FROM dynamic_configs WHERE name = ${clusterConfigName}`,
  )
  return clusterConfigOf(row?.value)
}

/**
 * Changes the cluster compaction config. If it differs, adds an entry to the histories of all datasources, including those
 * whose config was deleted.
 */
export async function changeClusterCompactionConfig(
  database: Database,
  next: (present: ClusterCompactionConfig) => ClusterCompactionConfig,
  author: Author,
  now: number,
): Promise<void> {
  await change(database, async (transaction, present) => {
    const value = JSON.stringify(formatClusterConfig(next(present)))
    await transaction.query(sql`
      INSERT INTO dynamic_configs AS config (name, value) VALUES (${clusterConfigName}, ${value})
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, revision = config.revision + 1`)
    await saveAudit(
      transaction,
      { ...author, type: clusterConfigName, key: clusterConfigName, payload: value },
      now,
    )
    if (value === JSON.stringify(formatClusterConfig(present))) return
    const supervisors = await loadCompactionSupervisors(transaction)
    const supervised = supervisors.map(({ config }) => JSON.stringify(formatCompactionConfig(config)))
    await transaction.query(sql`
      INSERT INTO compaction_history
        (datasource, of_supervisor, global_config, config, author, comment, identity, ip, created_at)
      SELECT datasource, of_supervisor, ${value}, config, ${author.author}, ${author.comment}, ${author.identity},
        ${author.ip}, to_timestamp(${now / 1000})
      FROM (
        SELECT datasource, false AS of_supervisor, config FROM compaction_configs
        UNION ALL
        SELECT DISTINCT datasource, false, NULL FROM compaction_history
        WHERE NOT of_supervisor AND datasource NOT IN (SELECT datasource FROM compaction_configs)
        UNION ALL
        SELECT datasource, true, config
        FROM unnest(${supervisors.map(({ dataSource }) => dataSource)}::text[], ${supervised}::text[])
          AS supervised (datasource, config)
      ) configs`)
  })
}

async function saveHistory(
  transaction: Transaction,
  entry: {
    dataSource: string
    ofSupervisor: boolean
    global: ClusterCompactionConfig
    config: string | null
  },
  { author, comment, identity, ip }: Author,
  now: number,
): Promise<void> {
  const { dataSource, ofSupervisor, global, config } = entry
  await transaction.query(sql`
    INSERT INTO compaction_history
      (datasource, of_supervisor, global_config, config, author, comment, identity, ip, created_at)
    VALUES (${dataSource}, ${ofSupervisor}, ${JSON.stringify(formatClusterConfig(global))}, ${config}, ${author},
      ${comment}, ${identity}, ${ip}, to_timestamp(${now / 1000}))`)
}

/** Reads stored rows. There may be thousands of them, or some of megabytes, so other work runs in between. */
function readInSlices<Row, Value>(rows: readonly Row[], read: (row: Row) => Value): Promise<Value[]> {
  function* readAll(): Generator<undefined, Value[]> {
    const values: Value[] = []
    for (const row of rows) {
      values.push(read(row))
      yield
    }
    return values
  }
  return finishInSlices(readAll())
}

/** Returns the compaction configs of the coordinator's duty, sorted by datasource. */
export async function loadCompactionConfigs(queries: Queries): Promise<CompactionConfig[]> {
  const rows = await queries.query<{ config: string }>(
    sql`SELECT config FROM compaction_configs ORDER BY datasource`,
  )
  return await readInSlices(rows, ({ config }) => parseCompactionConfig(JSON.parse(config)))
}

/** Returns the compaction config of a datasource for the coordinator's duty; undefined if there is none. */
export async function loadCompactionConfig(
  queries: Queries,
  dataSource: string,
): Promise<CompactionConfig | undefined> {
  const [row] = await queries.query<{ config: string }>(
    sql`SELECT config FROM compaction_configs WHERE datasource = ${dataSource}`,
  )
  return row && parseCompactionConfig(JSON.parse(row.config))
}

const configAudit = 'compaction.config'

/**
 * Stores the compaction config of a datasource for the coordinator's duty. Throws a Failure if its engine is
 * unsupported.
 */
export async function saveCompactionConfig(
  database: Database,
  config: CompactionConfig,
  author: Author,
  now: number,
  checkReplaced?: CheckReplaced,
): Promise<void> {
  await change(database, async (transaction, global) => {
    checkReplaced?.(await loadCompactionConfig(transaction, config.dataSource))
    // The duty supports only one engine, whichever engine supervisors use.
    assertRunnableBy(config, { engine: 'native', useSupervisors: false })
    const { dataSource } = config
    const text = JSON.stringify(formatCompactionConfig(config))
    const [before] = await transaction.query<{ config: string }>(
      sql`SELECT config FROM compaction_configs WHERE datasource = ${dataSource}`,
    )
    await transaction.query(sql`
      INSERT INTO compaction_configs (datasource, config) VALUES (${dataSource}, ${text})
      ON CONFLICT (datasource) DO UPDATE SET config = excluded.config`)
    await saveAudit(transaction, { ...author, type: configAudit, key: dataSource, payload: text }, now)
    if (before?.config === text) return
    await saveHistory(transaction, { dataSource, ofSupervisor: false, global, config: text }, author, now)
  })
}

/** Removes the compaction config of a datasource. Returns false if there was none. */
export async function deleteCompactionConfig(
  database: Database,
  dataSource: string,
  author: Author,
  now: number,
  checkReplaced?: CheckReplaced,
): Promise<boolean> {
  return await change(database, async (transaction, global) => {
    checkReplaced?.(await loadCompactionConfig(transaction, dataSource))
    const removed = await transaction.query(
      sql`DELETE FROM compaction_configs WHERE datasource = ${dataSource} RETURNING datasource`,
    )
    if (removed.length === 0) return false
    await saveAudit(transaction, { ...author, type: configAudit, key: dataSource, payload: 'null' }, now)
    await saveHistory(transaction, { dataSource, ofSupervisor: false, global, config: null }, author, now)
    return true
  })
}

/** The configs after one change, as JSON text; times in epoch milliseconds. */
export interface CompactionHistoryEntry extends Author {
  readonly globalConfig: string
  /** Null if the config was removed. */
  readonly compactionConfig: string | null
  readonly createdAt: number
}

// How much of a history is read at once. A configuration has up to 1 MiB.
const maxPage = { bytes: 256 * 1024, entries: 500 }

/**
 * Generates the history of a datasource in pages: its newest `count` entries, newest first, or all entries, oldest first.
 */
export async function* compactionHistoryPages(
  queries: Queries,
  query: {
    readonly dataSource: string
    readonly ofSupervisor: boolean
    readonly count?: number | undefined
    readonly interval?: Interval | undefined
  },
): AsyncGenerator<CompactionHistoryEntry[]> {
  const { dataSource, ofSupervisor, count, interval } = query
  const byTime =
    interval === undefined
      ? sql``
      : sql`AND created_at >= to_timestamp(${storableSeconds(interval.start)})
            AND created_at < to_timestamp(${storableSeconds(interval.end)})`
  // With its table, because the name alone would be the text that the first query selects.
  const order =
    count === undefined ? sql`ORDER BY compaction_history.id` : sql`ORDER BY compaction_history.id DESC`
  const limit = count === undefined ? sql`` : sql`LIMIT ${count}`
  const sizes = await queries.query<{ id: string; bytes: number }>(sql`
    SELECT id::text, octet_length(global_config) + coalesce(octet_length(config), 0) AS bytes
    FROM compaction_history WHERE datasource = ${dataSource} AND of_supervisor = ${ofSupervisor} ${byTime} ${order} ${limit}`)
  for (const ids of pagesOf(sizes)) {
    yield await queries.query<CompactionHistoryEntry>(sql`
      SELECT global_config AS "globalConfig", config AS "compactionConfig", author, comment, identity, ip,
        created_at AS "createdAt"
      FROM compaction_history WHERE id = ANY(${ids}::bigint[]) ${order}`)
  }
}

function* pagesOf(sizes: readonly { readonly id: string; readonly bytes: number }[]): Generator<string[]> {
  let page: string[] = []
  let pageBytes = 0
  for (const { id, bytes } of sizes) {
    if (page.length > 0 && (page.length >= maxPage.entries || pageBytes + bytes > maxPage.bytes)) {
      yield page
      page = []
      pageBytes = 0
    }
    page.push(id)
    pageBytes += bytes
  }
  if (page.length > 0) yield page
}

/** The newest version of a compaction supervisor. */
export interface CompactionSupervisor {
  /** `autocompact__` followed by the datasource. */
  readonly id: string
  readonly dataSource: string
  readonly config: CompactionConfig
  readonly suspended: boolean
}

/** One version of a supervisor; `createdAt` in epoch milliseconds. */
export interface SupervisorVersion {
  readonly id: string
  /** JSON text. */
  readonly spec: string
  readonly createdAt: number
}

/** Returns the ID of the compaction supervisor of a datasource. */
export const compactionSupervisorId = (dataSource: string): string => `autocompact__${dataSource}`

/** Returns a supervisor as JSON. */
export const formatSupervisor = ({
  config,
  suspended,
}: Pick<CompactionSupervisor, 'config' | 'suspended'>) => ({
  type: 'autocompact',
  spec: formatCompactionConfig(config),
  suspended,
})

// The version that Druid writes for a terminated supervisor.
const tombstone = (dataSource: string) => ({
  type: 'noop',
  id: null,
  dataSources: [dataSource],
  suspended: false,
  source: 'noop',
})

/** Returns all supervisors that are not terminated, sorted by ID. */
export async function loadCompactionSupervisors(queries: Queries): Promise<CompactionSupervisor[]> {
  const rows = await queries.query<{ id: string; spec: string }>(
    sql`SELECT DISTINCT ON (id) id, spec FROM supervisors ORDER BY id, version DESC`,
  )
  const supervisors = await readInSlices(rows, ({ id, spec }) => readSupervisor(id, spec))
  return supervisors.filter((one) => one !== undefined)
}

/** Returns a supervisor that is not terminated; undefined if there is none. */
export async function loadCompactionSupervisor(
  queries: Queries,
  id: string,
): Promise<CompactionSupervisor | undefined> {
  const [row] = await queries.query<{ spec: string }>(
    sql`SELECT spec FROM supervisors WHERE id = ${id} ORDER BY version DESC LIMIT 1`,
  )
  return row && readSupervisor(id, row.spec)
}

/** Returns undefined if the supervisor is terminated. Postgres cannot read JSON with NUL in a string, so this does. */
function readSupervisor(id: string, text: string): CompactionSupervisor | undefined {
  const { type, spec, suspended } = JSON.parse(text) as { type: string; spec: unknown; suspended: boolean }
  if (type === 'noop') return undefined
  const config = parseCompactionConfig(spec)
  return { id, dataSource: config.dataSource, config, suspended }
}

/**
 * Yields the versions of one supervisor or of all, in pages of limited size. The versions of a supervisor follow each other,
 * newest first; the supervisor with the newest version comes first. Leaves out datasources that may not be read.
 */
export async function* supervisorVersionPages(
  queries: Queries,
  { id = null, readable }: { readonly id?: string | null; readonly readable: ReadableNames },
): AsyncGenerator<SupervisorVersion[]> {
  const order = sql`ORDER BY max(version) OVER (PARTITION BY id) DESC, version DESC`
  const sizes = await queries.query<{ id: string; dataSource: string; bytes: number }>(sql`
    SELECT version::text AS id, datasource AS "dataSource", octet_length(spec) AS bytes
    FROM supervisors WHERE ${id}::text IS NULL OR id = ${id} ${order}`)
  const canRead = await readable(new Set(sizes.map(({ dataSource }) => dataSource)))
  for (const versions of pagesOf(sizes.filter(({ dataSource }) => canRead(dataSource)))) {
    const rows = await queries.query<SupervisorVersion & { readonly version: string }>(sql`
      SELECT version::text, id, spec, created_at AS "createdAt"
      FROM supervisors WHERE version = ANY(${versions}::bigint[])`)
    const byVersion = new Map(rows.map(({ version, ...row }) => [version, row]))
    yield versions.flatMap((version) => byVersion.get(version) ?? [])
  }
}

async function addVersion(
  transaction: Transaction,
  dataSource: string,
  spec: unknown,
  author: Author,
  now: number,
): Promise<void> {
  const id = compactionSupervisorId(dataSource)
  const payload = JSON.stringify(spec)
  await transaction.query(sql`
    INSERT INTO supervisors (id, datasource, spec, created_at)
    VALUES (${id}, ${dataSource}, ${payload}, to_timestamp(${now / 1000}))`)
  await saveAudit(transaction, { ...author, type: 'supervisor', key: id, payload }, now)
}

/** Stores a new supervisor or a new version of one. Throws a Failure if the engine cannot run its config. */
export async function saveCompactionSupervisor(
  database: Database,
  { config, suspended }: { readonly config: CompactionConfig; readonly suspended: boolean },
  author: Author,
  now: number,
  checkReplaced?: CheckReplaced,
): Promise<void> {
  await change(database, async (transaction, global) => {
    assertRunnableBy(config, { engine: global.engine, useSupervisors: true })
    const { dataSource } = config
    const before = await loadCompactionSupervisor(transaction, compactionSupervisorId(dataSource))
    checkReplaced?.(before?.config)
    await addVersion(transaction, dataSource, formatSupervisor({ config, suspended }), author, now)
    const text = JSON.stringify(formatCompactionConfig(config))
    if (before && JSON.stringify(formatCompactionConfig(before.config)) === text) return
    await saveHistory(transaction, { dataSource, ofSupervisor: true, global, config: text }, author, now)
  })
}

/** Suspends or resumes a supervisor. Throws a notFound Failure if it does not exist. */
export async function suspendCompactionSupervisor(
  database: Database,
  id: string,
  suspended: boolean,
  author: Author,
  now: number,
): Promise<CompactionSupervisor> {
  return await change(database, async (transaction) => {
    const present = await loadCompactionSupervisor(transaction, id)
    if (present === undefined) throw notFound(`Supervisor [${id}] does not exist`)
    const next = { ...present, suspended }
    if (present.suspended !== suspended) {
      await addVersion(transaction, present.dataSource, formatSupervisor(next), author, now)
    }
    return next
  })
}

/** Terminates the supervisor of a datasource. Returns false if there is none. */
export async function terminateCompactionSupervisor(
  database: Database,
  dataSource: string,
  author: Author,
  now: number,
  checkReplaced?: CheckReplaced,
): Promise<boolean> {
  return await change(database, async (transaction, global) => {
    const present = await loadCompactionSupervisor(transaction, compactionSupervisorId(dataSource))
    checkReplaced?.(present?.config)
    if (present === undefined) return false
    await addVersion(transaction, dataSource, tombstone(dataSource), author, now)
    await saveHistory(transaction, { dataSource, ofSupervisor: true, global, config: null }, author, now)
    return true
  })
}

/** Returns full compaction states by the ID that segments refer to. */
export async function loadCompactionStates(
  queries: Queries,
  ids?: readonly number[],
): Promise<ReadonlyMap<number, unknown>> {
  const rows = await queries.query<{ id: number; state: unknown }>(
    ids === undefined
      ? sql`SELECT id, state FROM compaction_states`
      : sql`SELECT id, state FROM compaction_states WHERE id = ANY(${ids})`,
  )
  return new Map(rows.map(({ id, state }) => [id, state]))
}

/** A stored compaction state: its internal ID, and its public fingerprint. */
export interface StoredCompactionState {
  readonly id: number
  readonly fingerprint: string
}

/** Stores a compaction state of a datasource once. */
export async function saveCompactionState(
  transaction: Queries,
  { dataSource, state }: { readonly dataSource: string; readonly state: unknown },
): Promise<StoredCompactionState> {
  const fingerprint = createHash('sha256').update(canonicalText({ dataSource, state })).digest('hex')
  const [row] = await transaction.query<{ id: number }>(sql`
    INSERT INTO compaction_states (fingerprint, datasource, state)
    VALUES (${fingerprint}, ${dataSource}, ${withExactLimits(JSON.stringify(state))})
    ON CONFLICT (fingerprint) DO UPDATE SET fingerprint = excluded.fingerprint RETURNING id`)
  return { id: (row as { id: number }).id, fingerprint }
}
