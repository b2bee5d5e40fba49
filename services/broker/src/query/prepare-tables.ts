import { setImmediate } from 'node:timers/promises'
import { describeError, Failure, unavailable } from '@svc/domain/failure'
import {
  type AnswerPlan,
  type AnswerSnapshot,
  type FormerSegment,
  planAnswerInParts,
  pruneAnswer,
} from '@svc/domain/querying'
import { describeWantedCopies, dropsInterval, type Rule, ruleBoundariesOf } from '@svc/domain/rules'
import { parseSegmentId, type SegmentColumn, type SegmentPayload } from '@svc/domain/segment'
import { countOf } from '@svc/domain/text'
import type { Interval } from '@svc/domain/time'
import { instantLiteral } from '@svc/shared/duckdb'
import { loadPayloads, loadRulesOf, loadStoredSegments, type ParsedRules } from '@svc/shared/postgres'
import { retry } from '@svc/shared/retry'
import type { DataServer } from '@svc/shared/segment-serving'
import type { ServiceContext } from '@svc/shared/service'
import type { DatasourceRelation } from '../query-processes/index.ts'
import type { ServerView } from '../server-view/index.ts'
import type { NeededSegment } from './fetch-segment-files.ts'
import type { FetchedFiles, HeldFiles } from './fetched-files.ts'
import type { QueriedSegment, UsedSegments } from './used-segments.ts'

/** How to prepare the tables of a query. */
export interface TableOptions {
  /** Whether to read segments from deep storage that no server has loaded. */
  readonly fromDeepStorage: boolean
  readonly signal: AbortSignal
  /** Returns the time ranges that the query reads, sorted and disjoint, or undefined for all of time. */
  timesOf?(dataSource: string): readonly Interval[] | undefined
  /** Returns the failure for a datasource without segments. */
  onUnknown(dataSource: string): Failure
}

/** One datasource of a query: its plan and where its files are. */
export interface PreparedTable {
  readonly dataSource: string
  readonly plan: AnswerPlan
  readonly relation: DatasourceRelation
  payloadOf(segmentId: string): SegmentPayload
}

/** All datasources of a query as they were at one moment. */
export interface PreparedTables {
  readonly tables: readonly PreparedTable[]
  /** Releases the files, so that they may be evicted. */
  release(): void
}

/** What tables are prepared from. */
export interface TableSources {
  readonly context: Pick<
    ServiceContext,
    'client' | 'clock' | 'database' | 'discovery' | 'logger' | 'settings'
  >
  readonly view: ServerView
  readonly own: DataServer
  readonly used: UsedSegments
  readonly files: FetchedFiles
  /** Caches parsed rules between queries, because every query needs them and the list may be long. */
  readonly parsedRules: ParsedRules
}

// How long a query waits for segments that are briefly unavailable, such as while a server restarts or versions change.
const timeoutMs = 20_000
const retryMs = 200

/** A temporary problem: retrying may succeed. */
class NotNow extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/**
 * Finds the segments that answer the query, for all datasources at one moment, and fetches their files. Waits while
 * segments are briefly unavailable. Throws unavailable if they are missing for longer.
 */
export async function prepareTables(
  sources: TableSources,
  dataSources: readonly string[],
  options: TableOptions,
): Promise<PreparedTables> {
  // Do not wait for servers here: system tables must work while a server is down.
  if (dataSources.length === 0) return { tables: [], release: () => undefined }
  try {
    return await retry(() => tryToPrepare(sources, dataSources, options), {
      isTemporary: (error) => error instanceof NotNow,
      delayMs: retryMs,
      timeoutMs,
      signal: options.signal,
      onRetry: (error) =>
        sources.context.logger.debug('Waiting for segments that a query needs', { reason: error.message }),
    })
  } catch (error) {
    throw error instanceof NotNow ? error.failure : error
  }
}

async function tryToPrepare(
  sources: TableSources,
  dataSources: readonly string[],
  options: TableOptions,
): Promise<PreparedTables> {
  const { view, used, files, own } = sources
  await refreshUsed(sources, dataSources)
  // Read the view after the store: a segment that is unused in the store was replaced by one that is already served.
  await view.catchUp()
  if (await refreshUsed(sources, dataSources)) throw new NotNow(unavailable('Segments are being published'))
  if (!view.isInitialized())
    throw new NotNow(unavailable('The broker has not received the segment lists of all historicals yet'))
  const plans = await Promise.all(dataSources.map((name) => planOf(sources, name, options)))
  const needed = plans.flatMap(({ plan: { answering } }) =>
    answering.map(
      ({ segment: { id } }): NeededSegment => ({
        id,
        servers: view.serversOf(id),
        ownFile: own.fileOf(id),
        fromDeepStorage: options.fromDeepStorage,
      }),
    ),
  )
  const held = await files.hold(needed, options.signal).catch((error: unknown) => {
    // The segment was dropped, deleted, or lost with its server in the meantime.
    if (error instanceof Failure && (error.code === 'unavailable' || error.code === 'notFound'))
      throw new NotNow(unavailable(error.message, error.context, error))
    throw error
  })
  for (const [index, name] of dataSources.entries()) {
    const { isComplete, obsolete } = plans[index] as TablePlan
    if (!isComplete) continue
    used.forgetRetired(name)
    for (const id of obsolete) view.forget(id)
  }
  try {
    const tables = dataSources.map(async (name, index): Promise<PreparedTable> => {
      const { plan, schemas } = plans[index] as TablePlan
      const relation = await relationOf(sources, name, plan, schemas, held)
      return { dataSource: name, plan, relation, payloadOf: held.payloadOf }
    })
    return { tables: await Promise.all(tables), release: held.release }
  } catch (error) {
    held.release()
    throw error
  }
}

/** Returns whether anything changed. While the metadata store is unavailable, the last known segments are used. */
async function refreshUsed(
  { used, context }: TableSources,
  dataSources: readonly string[],
): Promise<boolean> {
  const known = dataSources.map((name) => used.isKnown(name))
  const changes = await Promise.all(
    dataSources.map((name) =>
      used.refresh(name).catch((error: unknown) => {
        if (!used.isKnown(name)) throw error
        context.logger.warn('Metadata store is unavailable; running a query on the last known segments', {
          dataSource: name,
          error: describeError(error),
        })
        return false
      }),
    ),
  )
  return changes.some((changed, index) => changed && known[index])
}

/** The plan, and the columns of all segments, including pruned ones. */
interface TablePlan {
  readonly plan: AnswerPlan
  readonly schemas: readonly (readonly SegmentColumn[])[] | undefined
  /** Whether nothing is missing at any time, even outside the times that the query reads. */
  readonly isComplete: boolean
  /** Ids of former segments that are not used anymore. A complete plan shows their replacements. */
  readonly obsolete: readonly string[]
}

async function planOf(
  sources: TableSources,
  dataSource: string,
  { fromDeepStorage, onUnknown, timesOf }: TableOptions,
): Promise<TablePlan> {
  const { view, used, own, files } = sources
  const rules = await ruleFor(sources, dataSource)
  const heldBack = fromDeepStorage ? await heldBackByRules(sources, dataSource, rules) : []
  const segments = [...used.of(dataSource), ...heldBack]
  if (segments.length === 0) throw onUnknown(dataSource)
  const isServed = (id: string) => view.serversOf(id).length > 0 || own.fileOf(id) !== undefined
  const { former, obsolete } = await formerSegments(sources, dataSource)
  const full = await planWithPauses({
    segments,
    isAvailable: ({ id }) => fromDeepStorage || isServed(id) || (view.isLost(id) && files.has(id)),
    isLost: view.isLost,
    formerly: former,
    isWanted: ({ interval }) => {
      const rule = rules(interval)
      if (rule === undefined) return true
      const wanted = describeWantedCopies(rule)
      if (wanted.action === 'broadcast') return true
      return wanted.action === 'load' && wanted.tieredReplicants.size > 0
    },
  })
  const times = timesOf?.(dataSource)
  const schemaIds = times && schemaIdsOf(full)
  // Pruning must not change the columns of the table, so it requires the columns of the pruned segments.
  const plan = times && schemaIds ? pruneAnswer(full, times) : full
  const isPruned = plan.answering.length < full.answering.length
  const count = plan.missing.length
  if (count > 0) {
    throw new NotNow(
      unavailable(
        `${countOf(count, 'segment')} of datasource [${dataSource}] ${count === 1 ? 'was served before but is' : 'were served before but are'} unavailable now, so the result would be incomplete`,
        { dataSource, segments: String(count) },
      ),
    )
  }
  return {
    plan,
    schemas: isPruned && schemaIds ? await used.schemasOf(schemaIds) : undefined,
    isComplete: full.missing.length === 0,
    obsolete,
  }
}

// Segments to process before other requests get a turn.
const segmentsAtOnce = 5000

/** Plans an answer in parts, so that other requests are not blocked. */
async function planWithPauses(snapshot: AnswerSnapshot<QueriedSegment>): Promise<AnswerPlan<QueriedSegment>> {
  const planning = planAnswerInParts(snapshot, segmentsAtOnce)
  for (;;) {
    const { done, value } = planning.next()
    if (done) return value
    if (snapshot.segments.length > segmentsAtOnce) await setImmediate()
  }
}

/**
 * Returns the ids of the schemas of a plan's segments, in the order of the files of the table. Returns undefined if the
 * schema of any segment is not known.
 */
function schemaIdsOf({ answering }: AnswerPlan<QueriedSegment>): number[] | undefined {
  const inOrder = [
    ...answering.filter(({ within }) => within === undefined),
    ...answering.filter(({ within }) => within !== undefined),
  ]
  const ids = new Set<number>()
  for (const { segment } of inOrder) {
    if (segment.schemaId === null) return undefined
    ids.add(segment.schemaId)
  }
  return [...ids]
}

/**
 * Returns the segments of a datasource that were served or used before, and the ids of those that are not used anymore.
 * Does not block other requests.
 */
async function formerSegments({ view, used }: TableSources, dataSource: string) {
  const former: FormerSegment[] = [...used.retired(dataSource)]
  const obsolete: string[] = []
  let seen = 0
  for (const id of view.formerly()) {
    seen += 1
    if (seen % segmentsAtOnce === 0) await setImmediate()
    const key = parseSegmentId(dataSource, id)
    if (!key) continue
    former.push(key)
    if (!used.has(dataSource, id)) obsolete.push(id)
  }
  return { former, obsolete }
}

/** Returns a function that finds the first rule for an interval. It returns undefined if the rules cannot be read. */
async function ruleFor(
  { context, parsedRules }: TableSources,
  dataSource: string,
): Promise<(interval: Interval) => Rule | undefined> {
  const rules = await loadRulesOf(context.database, dataSource, parsedRules).catch(() => undefined)
  if (!rules) return () => undefined
  const boundaries = ruleBoundariesOf(rules, dataSource, context.clock.now())
  return (interval) => boundaries.ruleAt(boundaries.match(interval))
}

/** Returns unused segments that were dropped by an interval rule. Their files are still in deep storage. */
async function heldBackByRules(
  { context }: TableSources,
  dataSource: string,
  rules: (interval: Interval) => Rule | undefined,
): Promise<QueriedSegment[]> {
  const unused = await loadStoredSegments(context.database, { dataSource, used: false })
  return unused.filter(({ interval }) => {
    const rule = rules(interval)
    return rule !== undefined && dropsInterval(rule)
  })
}

async function relationOf(
  { used, context }: TableSources,
  dataSource: string,
  { answering }: AnswerPlan,
  schemas: TablePlan['schemas'],
  held: HeldFiles,
): Promise<DatasourceRelation> {
  const files = answering.map(({ segment: { id }, within }) => ({
    path: held.fileOf(id),
    where: within?.map(insideSql).join(' OR '),
  }))
  if (files.length > 0 || schemas) return { name: dataSource, files, columnsWithoutFiles: [], schemas }
  const segments = used.of(dataSource)
  const schemaIds = new Set(segments.flatMap(({ schemaId }) => schemaId ?? []))
  if (schemaIds.size > 0)
    return { name: dataSource, files, columnsWithoutFiles: [], schemas: await used.schemasOf([...schemaIds]) }
  const payloads = await loadPayloads(
    context.database,
    segments.slice(0, 1).map(({ id }) => id),
  )
  const columns = [...payloads.values()].flatMap(({ dimensions, metrics }) => [
    ...dimensions.split(','),
    ...metrics.split(','),
  ])
  return { name: dataSource, files, columnsWithoutFiles: columns.filter(Boolean) }
}

function insideSql({ start, end }: Interval): string {
  const bounds = [
    ...(Number.isFinite(start) ? [`__time >= ${instantLiteral(start)}`] : []),
    ...(Number.isFinite(end) ? [`__time < ${instantLiteral(end)}`] : []),
  ]
  return bounds.length > 0 ? `(${bounds.join(' AND ')})` : 'true'
}

/** Fetches one file for each set of columns of a datasource, to read its columns. */
export async function holdNewest(
  sources: TableSources,
  dataSource: string,
  signal: AbortSignal,
): Promise<{ readonly relation: DatasourceRelation; release(): void } | undefined> {
  const { view, own, used, files, context } = sources
  await used.refresh(dataSource)
  const served = used.of(dataSource).filter(({ id }) => view.serversOf(id).length > 0 || own.fileOf(id))
  served.sort((a, b) => b.interval.start - a.interval.start || (a.version < b.version ? 1 : -1))
  const payloads = await loadPayloads(
    context.database,
    served.slice(0, maxChecked).map(({ id }) => id),
  )
  // In most datasources, the newest segments have all columns.
  const byColumns = new Map<string, string>()
  for (const [id, { dimensions, metrics, loadSpec }] of payloads) {
    if (loadSpec.type === 'virtual') continue
    const columns = `${dimensions}\n${metrics}`
    if (!byColumns.has(columns)) byColumns.set(columns, id)
  }
  if (byColumns.size === 0) return undefined
  const needed = [...byColumns.values()].map((id) => ({
    id,
    servers: view.serversOf(id),
    ownFile: own.fileOf(id),
    fromDeepStorage: false,
  }))
  const held = await files.hold(needed, signal)
  return {
    relation: {
      name: dataSource,
      files: needed.map(({ id }) => ({ path: held.fileOf(id) })),
      columnsWithoutFiles: [],
    },
    release: held.release,
  }
}

const maxChecked = 200
