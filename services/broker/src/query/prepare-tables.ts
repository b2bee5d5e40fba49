import { setImmediate } from 'node:timers/promises'
import { describeError, Failure, unavailable } from '@svc/domain/failure'
import {
  type AnswerPlan,
  type AnswerSnapshot,
  type FormerSegment,
  planAnswerInParts,
  pruneAnswer,
} from '@svc/domain/querying'
import { describeWantedCopies, type Rule, ruleBoundariesOf } from '@svc/domain/rules'
import { parseSegmentId, type SegmentColumn, type SegmentPayload } from '@svc/domain/segment'
import type { Interval } from '@svc/domain/time'
import type { DataServer } from '@svc/shared/data-server'
import { instantLiteral } from '@svc/shared/duckdb'
import { loadPayloads, loadRulesOf, loadStoredSegments, type ParsedRules } from '@svc/shared/postgres'
import type { DatasourceRelation } from '@svc/shared/query'
import type { ServiceContext } from '@svc/shared/service'
import type { ServedView } from '../served/index.ts'
import type { FetchedFiles, HeldFiles, NeededSegment } from './fetched-files.ts'
import type { QueriedSegment, UsedSegments } from './used-segments.ts'

/** How the tables of a query are to be made ready. */
export interface TableOptions {
  /** Segments that no server holds are read from deep storage. */
  readonly fromDeepStorage: boolean
  readonly signal: AbortSignal
  /** The times whose rows count, sorted and apart; undefined where those of any time do. */
  timesOf?(dataSource: string): readonly Interval[] | undefined
  /** What a datasource without segments is answered with. */
  onUnknown(dataSource: string): Failure
}

/** One datasource of a query: its plan, and where its files lie. */
export interface PreparedTable {
  readonly dataSource: string
  readonly plan: AnswerPlan
  readonly relation: DatasourceRelation
  payloadOf(segmentId: string): SegmentPayload
}

/** All datasources of a query as they were at one moment. */
export interface PreparedTables {
  readonly tables: readonly PreparedTable[]
  /** Gives the files free. */
  release(): void
}

/** What the tables are made of. */
export interface TableSources {
  readonly context: ServiceContext
  readonly view: ServedView
  readonly own: DataServer
  readonly used: UsedSegments
  readonly files: FetchedFiles
  /** Keeps rules from one query to the next, because a list may be long and every query needs it. */
  readonly parsedRules: ParsedRules
}

// How long a query waits for segments that are missing for a moment: a server that starts again, a change of versions.
const patienceMs = 20_000
const retryMs = 200

/** A moment at which there was no answer; another one may have it. */
class NotNow extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/**
 * Finds the segments that answer, of all datasources at one moment, and brings their files here. Waits where something
 * is missing for the moment; an unavailable failure tells what is missing for longer.
 */
export async function prepareTables(
  sources: TableSources,
  dataSources: readonly string[],
  options: TableOptions,
): Promise<PreparedTables> {
  // The tables about servers answer above all when one of them does not.
  if (dataSources.length === 0) return { tables: [], release: () => undefined }
  const deadline = performance.now() + patienceMs
  for (;;) {
    options.signal.throwIfAborted()
    try {
      return await tryToPrepare(sources, dataSources, options)
    } catch (error) {
      if (!(error instanceof NotNow)) throw error
      if (performance.now() > deadline) throw error.failure
      sources.context.logger.debug('A query waits for segments', { reason: error.message })
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

async function tryToPrepare(
  sources: TableSources,
  dataSources: readonly string[],
  options: TableOptions,
): Promise<PreparedTables> {
  const { view, used, files, own } = sources
  await refreshUsed(sources, dataSources)
  // Looked at after the store: a segment that became unused before was replaced by one that is served by now.
  await view.catchUp()
  if (await refreshUsed(sources, dataSources)) throw new NotNow(unavailable('Segments are being published'))
  if (!view.isInitialized())
    throw new NotNow(unavailable('The broker does not know yet what every historical serves'))
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
    // Dropped, erased or gone with its server since the look.
    if (error instanceof Failure && (error.code === 'unavailable' || error.code === 'notFound'))
      throw new NotNow(unavailable(error.message, error.context, error))
    throw error
  })
  for (const name of dataSources) used.forgetRetired(name)
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

/** Whether anything changed. Without the metadata store, what was known last still answers. */
async function refreshUsed(
  { used, context }: TableSources,
  dataSources: readonly string[],
): Promise<boolean> {
  const known = dataSources.map((name) => used.isKnown(name))
  const changes = await Promise.all(
    dataSources.map((name) =>
      used.refresh(name).catch((error: unknown) => {
        if (!used.isKnown(name)) throw error
        context.logger.warn('A query is answered without a look into the metadata store', {
          dataSource: name,
          error: describeError(error),
        })
        return false
      }),
    ),
  )
  return changes.some((changed, index) => changed && known[index])
}

/** What answers, and the columns that it has with all that was left out. */
interface TablePlan {
  readonly plan: AnswerPlan
  readonly schemas: readonly (readonly SegmentColumn[])[] | undefined
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
  const whole = await planWithPauses({
    segments,
    isAvailable: ({ id }) => fromDeepStorage || isServed(id) || (view.isLost(id) && files.has(id)),
    isLost: view.isLost,
    formerly: await formerSegments(sources, dataSource),
    isWanted: ({ interval }) => {
      const rule = rules(interval)
      if (rule === undefined) return true
      const wanted = describeWantedCopies(rule)
      if (wanted.action === 'broadcast') return true
      return wanted.action === 'load' && wanted.tieredReplicants.size > 0
    },
  })
  const times = timesOf?.(dataSource)
  const schemaIds = times && schemaIdsOf(whole)
  // The columns of what is left out must be known: without them it would be another table.
  const plan = times && schemaIds ? pruneAnswer(whole, times) : whole
  const isPruned = plan.answering.length < whole.answering.length
  if (plan.missing.length > 0) {
    throw new NotNow(
      unavailable(
        `[${plan.missing.length}] segments of datasource[${dataSource}] were served and cannot be had now; an answer without them would be wrong`,
        { dataSource, segments: String(plan.missing.length) },
      ),
    )
  }
  return { plan, schemas: isPruned && schemaIds ? await used.schemasOf(schemaIds) : undefined }
}

// Segments that are looked at before other requests get a turn.
const segmentsAtOnce = 5000

/** The plan of an answer, made without holding up other requests. */
async function planWithPauses(snapshot: AnswerSnapshot<QueriedSegment>): Promise<AnswerPlan<QueriedSegment>> {
  const planning = planAnswerInParts(snapshot, segmentsAtOnce)
  for (;;) {
    const { done, value } = planning.next()
    if (done) return value
    if (snapshot.segments.length > segmentsAtOnce) await setImmediate()
  }
}

/**
 * The numbers of the lists of columns that a plan's segments have, in the order in which they come about in a table of
 * all of them; undefined where that of one is not known.
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

/** The segments of a datasource that were served or used, found without holding up other requests. */
async function formerSegments({ view, used }: TableSources, dataSource: string): Promise<FormerSegment[]> {
  const former = [...used.retired(dataSource)]
  let seen = 0
  for (const id of view.formerly()) {
    const key = parseSegmentId(dataSource, id)
    if (!key) continue
    former.push(key)
    seen += 1
    if (seen % segmentsAtOnce === 0) await setImmediate()
  }
  return former
}

/** The first rule that applies to an interval; undefined where the rules cannot be read. */
async function ruleFor(
  { context, parsedRules }: TableSources,
  dataSource: string,
): Promise<(interval: Interval) => Rule | undefined> {
  const rules = await loadRulesOf(context.database, dataSource, parsedRules).catch(() => undefined)
  if (!rules) return () => undefined
  const boundaries = ruleBoundariesOf(rules, dataSource, context.clock.now())
  return (interval) => boundaries.ruleAt(boundaries.match(interval))
}

/** Unused segments that a rule for their interval keeps off all tiers, and whose files are still there. */
async function heldBackByRules(
  { context }: TableSources,
  dataSource: string,
  rules: (interval: Interval) => Rule | undefined,
): Promise<QueriedSegment[]> {
  const unused = await loadStoredSegments(context.database, { dataSource, used: false })
  return unused.filter(({ interval }) => rules(interval)?.type === 'dropByInterval')
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

/** Files of single segments, for what only their columns tell. */
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
    served.slice(0, mostLookedAt).map(({ id }) => id),
  )
  // One file of each set of columns; the newest have them all in most datasources.
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

const mostLookedAt = 200
