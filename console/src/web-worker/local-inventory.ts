import {
  bucketsOf,
  type CompleteInventory,
  decideRequest,
  type EditLosses,
  editLossesOf,
  formatBuckets,
  formatDecided,
  lackingSegments,
  type Outcome,
  outcomeOf,
  type PreviewSegments,
  parsePreviewRequest,
  previewServerChanges,
  replicaLaneOf,
  ruleLaneOf,
  type ServerChanges,
  type ServerChangesPreview,
  servedFiguresOf,
  type TierMove,
  tierMovesOf,
} from '@svc/domain/preview'
import { defaultRulesName, formatRule, type RuleBoundaries, ruleBoundariesOf } from '@svc/domain/rules'
import { segmentId } from '@svc/domain/segment'
import { sortInSteps } from '@svc/domain/steps'
import { formatInterval } from '@svc/domain/time'
import { type DroppedSegments, droppedSegmentsOf } from './dropped-segments.ts'
import type {
  DroppedTask,
  ExplainedSegment,
  ExplainedSegments,
  ExplainTask,
  InventoryFigures,
  PreviewAnswer,
  PreviewTask,
  PreviewView,
  TimeRange,
} from './messages.ts'

/** A computed preview, with everything that does not depend on the part of the time axis. */
interface Decision {
  readonly outcome: Outcome
  readonly answer: PreviewAnswer
  readonly moves: readonly TierMove[]
  readonly extent: TimeRange | undefined
}

/** What to decide. */
type DecisionTask = Omit<PreviewTask, 'range' | 'maxBuckets'>

// The stored rules and the latest edits. Each takes about ten bytes per segment.
const maxDecisions = 6

// Number of segments, and of explained segments, between two pauses.
const slice = 16_384
const explainedSlice = 200

const reader = { canRead: () => true, canReadTiers: true }

/** An inventory in the memory of the page. Computes previews with the same code as the coordinator. */
export class LocalInventory {
  private readonly inventory: CompleteInventory
  // Zooming changes only the buckets, so the last previews are kept.
  private readonly decisions = new Map<string, Decision>()
  /** What edits lose, by their decisions and those about the stored rules. */
  private readonly knownLosses = new WeakMap<Decision, WeakMap<Decision, EditLosses>>()

  constructor(inventory: CompleteInventory) {
    this.inventory = inventory
  }

  /** Returns what the page shows about datasources and tiers. Yields regularly. */
  *figures(revision: string): Generator<undefined, InventoryFigures> {
    const { now, servers, rules } = this.inventory
    const historicals = servers.filter(({ type }) => type === 'historical')
    const byTier = Map.groupBy(historicals, ({ tier }) => tier)
    const withSegments = new Set(this.inventory.datasources.map(({ segments }) => segments.dataSource))
    const withRulesOnly = [...rules.keys()].filter(
      (name) => name !== defaultRulesName && !withSegments.has(name),
    )
    return {
      revision,
      now,
      isLocal: true,
      tiers: [...byTier].map(([name, list]) => ({ name, servers: list.length })),
      datasources: [
        ...(yield* servedFiguresOf(this.inventory)),
        ...withRulesOnly.map((name) => ({
          name,
          segments: 0,
          bytes: 0,
          overshadowed: 0,
          extent: undefined,
          unserved: 0,
          underReplicated: 0,
          bytesByTier: {},
        })),
      ].sort((a, b) => (a.name < b.name ? -1 : 1)),
    }
  }

  /** Computes a preview. Yields regularly. Throws a Failure for invalid rules. */
  *preview({ range, maxBuckets, ...task }: PreviewTask): Generator<undefined, PreviewView> {
    const startedAt = performance.now()
    const { dataSource } = task
    const { outcome, answer, moves, extent } = yield* this.decide(task)
    const losses = yield* this.losses(task)
    // What is served now does not depend on where there is space.
    const stored = yield* this.decide({ dataSource, rules: undefined, now: undefined, assumesSpace: true })
    const buckets = yield* bucketsOf(outcome, new Set([dataSource]), maxBuckets, range)
    const names = outcome.cluster.tiers.map(({ name }) => name)
    return {
      answer,
      assumesSpace: outcome.assumesSpace,
      buckets: buckets && formatBuckets(buckets, names),
      replicas: buckets && (yield* replicaLaneOf(stored.outcome, dataSource, buckets)),
      rules: buckets && (yield* ruleLaneOf(outcome, dataSource, buckets)),
      moves,
      losses,
      extent,
      tookMs: performance.now() - startedAt,
    }
  }

  /** Returns what an edit loses; undefined for the stored rules. Yields regularly. */
  private *losses(task: DecisionTask): Generator<undefined, PreviewView['losses']> {
    const atTime = yield* this.lossesAt(task)
    if (atTime === undefined) return undefined
    const isFuture = task.now !== undefined
    return {
      atTime,
      atOnce: isFuture ? yield* this.lossesAt({ ...task, now: undefined, assumesSpace: true }) : undefined,
    }
  }

  private *lossesAt(task: DecisionTask): Generator<undefined, EditLosses | undefined> {
    const edited = yield* this.decide(task)
    const stored = yield* this.decide({ ...task, rules: undefined })
    if (edited === stored) return undefined
    const ofEdit = this.knownLosses.get(edited) ?? new WeakMap<Decision, EditLosses>()
    this.knownLosses.set(edited, ofEdit)
    const losses =
      ofEdit.get(stored) ?? (yield* editLossesOf(edited.outcome, stored.outcome, task.dataSource))
    ofEdit.set(stored, losses)
    return losses
  }

  private *decide({ dataSource, rules, now, assumesSpace }: DecisionTask): Generator<undefined, Decision> {
    const { inventory } = this
    const list = rules ?? inventory.rules.get(dataSource)?.map(formatRule) ?? []
    const key = JSON.stringify([dataSource, list, now])
    const known = this.decisions.get(key)
    if (known && (assumesSpace || !known.outcome.assumesSpace)) {
      // The stored rules are compared with every edit, so they are kept longer than each of the edits.
      this.decisions.delete(key)
      this.decisions.set(key, known)
      return known
    }
    const request = yield* parsePreviewRequest(
      { rules: Object.fromEntries([[dataSource, list]]) },
      inventory.now,
    )
    const decided = yield* decideRequest({ ...request, now }, inventory, reader, { assumesSpace })
    const [oldest] = this.decisions.keys()
    if (oldest !== undefined && this.decisions.size >= maxDecisions) this.decisions.delete(oldest)
    const { outcome } = decided.result
    const columns = outcomeOf(outcome, dataSource)?.columns
    const page = { full: false, offset: 0, limit: 1 }
    const decision: Decision = {
      outcome,
      answer: (yield* formatDecided(decided, page)) as unknown as PreviewAnswer,
      moves: yield* tierMovesOf(outcome, dataSource),
      extent: columns?.extent,
    }
    this.decisions.set(key, decision)
    return decision
  }

  /** Returns what the stored rules do to all datasources at a time. Yields regularly. */
  *future(now: number): Generator<undefined, PreviewAnswer> {
    const { inventory } = this
    // A list of default rules makes the request one for all datasources. It is the stored one.
    const defaultRules = inventory.rules.get(defaultRulesName) ?? []
    const request = yield* parsePreviewRequest({ rules: {} }, inventory.now)
    const decided = yield* decideRequest({ ...request, now, defaultRules }, inventory, reader)
    const page = { full: false, offset: 0, limit: 1 }
    return (yield* formatDecided(decided, page)) as unknown as PreviewAnswer
  }

  /** Returns what changes to the servers do under the stored rules. Yields regularly. */
  changeServers(changes: ServerChanges): Generator<undefined, ServerChangesPreview> {
    return previewServerChanges(this.inventory, changes)
  }

  /** Returns the segments that rules would mark as unused. Yields regularly. */
  *dropped({ dataSource, rules }: DroppedTask): Generator<undefined, DroppedSegments> {
    const { outcome } = yield* this.decide({ dataSource, rules, now: undefined, assumesSpace: true })
    return yield* droppedSegmentsOf(outcome, dataSource)
  }

  /**
   * Returns the segments that overlap a range, with the rule that applies to each and the servers that serve it. Yields
   * regularly.
   */
  *explain(task: ExplainTask): Generator<undefined, ExplainedSegments> {
    const { dataSource, range, onlyLacking, limit } = task
    const stored = { dataSource, rules: undefined, now: undefined, assumesSpace: true }
    const { outcome } = yield* this.decide(stored)
    const datasource = outcomeOf(outcome, dataSource)
    if (datasource === undefined) return { total: 0, lacking: 0, segments: [] }
    const { segments } = datasource
    const isLacking = lackingSegments(datasource)
    const found: number[] = []
    let [total, lacking] = [0, 0]
    for (let index = 0; index < segments.count; index += 1) {
      if (index % slice === 0) yield
      if (segments.start(index) >= range.end || segments.end(index) <= range.start) continue
      total += 1
      lacking += isLacking[index]!
      if (!onlyLacking || isLacking[index] === 1) found.push(index)
    }
    const sorted = yield* sortInSteps(
      found,
      (a, b) => segments.start(a) - segments.start(b) || segments.partitionNum(a) - segments.partitionNum(b),
    )
    const { rules, now } = this.inventory
    const boundaries = ruleBoundariesOf(rules, dataSource, now)
    const explained: ExplainedSegment[] = []
    for (const index of sorted.slice(0, limit)) {
      if (explained.length % explainedSlice === explainedSlice - 1) yield
      explained.push(this.explainOne(segments, index, boundaries))
    }
    return { total, lacking, segments: explained }
  }

  private explainOne(segments: PreviewSegments, index: number, boundaries: RuleBoundaries): ExplainedSegment {
    const { servers, rules } = this.inventory
    const { dataSource } = segments
    const interval = { start: segments.start(index), end: segments.end(index) }
    const key = {
      dataSource,
      interval,
      version: segments.version(index),
      partitionNum: segments.partitionNum(index),
    }
    const isOvershadowed = segments.isOvershadowed(index)
    const number = boundaries.match(interval)
    const own = rules.get(dataSource)?.length ?? 0
    const wanted = boundaries.wantedBy(number)
    const served = new Map<string, number>()
    const names: string[] = []
    segments.forEachCopy(index, (server) => {
      const { name, tier, type } = servers[server]!
      names.push(name)
      const holder = type === 'broker' ? 'brokers' : tier
      served.set(holder, (served.get(holder) ?? 0) + 1)
    })
    const required =
      !isOvershadowed && wanted.action === 'load' ? wanted.tieredReplicants : new Map<string, number>()
    return {
      id: segmentId(key),
      interval: formatInterval(interval),
      version: key.version,
      partitionNum: key.partitionNum,
      sizeBytes: segments.sizeBytes(index),
      isOvershadowed,
      rule: isOvershadowed
        ? undefined
        : number < own
          ? { index: number, source: 'datasource' }
          : { index: number - own, source: 'default' },
      action: wanted.action,
      tiers: [...new Set([...required.keys(), ...served.keys()])].map((tier) => ({
        tier,
        wanted: required.get(tier) ?? 0,
        served: served.get(tier) ?? 0,
      })),
      servers: names,
    }
  }
}
