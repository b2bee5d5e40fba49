import type { UnplacedDatasource } from './datasource-outcome.ts'
import type { UnplacedOutcome } from './decide-outcome.ts'
import { Losses, lossesOf } from './losses.ts'
import { RuleHistory, type SegmentPart, type StateChanges } from './rule-history.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { Tally } from './segments.ts'
import type { SimulatedStep, SimulatedSteps } from './simulated-steps.ts'
import { capacityOf, type DatasourceSummary, keptIntervals, type TierSummary } from './summary.ts'
import {
  addChange,
  addCopies,
  addTally,
  type MutableCopyTally,
  type MutableTierChange,
  noChange,
  noCopies,
} from './tallies.ts'
import type { LaterDemand } from './tight-tiers.ts'

/** The state of the cluster at a point in the future, with the changes since the previous step. */
export interface PreviewStep {
  readonly now: number
  readonly datasources: readonly DatasourceSummary[]
  readonly tiers: readonly TierSummary[]
  /** What these datasources lack then. */
  readonly losses: Losses
}

/** How to decide steps. */
interface CourseOptions {
  /** Datasources to include in the steps. */
  readonly concerned: ReadonlySet<string>
  /** Undefined if all replicas fit. */
  readonly simulated?: SimulatedSteps | undefined
  /** Gets the largest demand of each holder. */
  readonly demands?: readonly LaterDemand[]
}

/**
 * The state of a cluster as time passes, if the coordinator runs at each step and no data is added. Segments that a drop
 * rule has marked as unused stay unused.
 */
export class Course {
  private readonly unplaced: UnplacedOutcome
  private readonly options: CourseOptions
  private readonly histories: readonly RuleHistory[]
  /** The parts that were unqueryable at the time of the preview, by datasource. */
  private readonly firstUnqueryable: readonly (readonly SegmentPart[])[]
  /** The states before each step, and what it has changed, by datasource. */
  private past: { readonly states: RuleHistory['states']; readonly changes: StateChanges }[][] = []

  constructor(unplaced: UnplacedOutcome, options: CourseOptions) {
    this.unplaced = unplaced
    this.options = options
    this.histories = historiesOf(unplaced)
    this.firstUnqueryable = this.histories.map(({ states }, index) =>
      states.filter((part) => isUnqueryable(unplaced.datasources[index]!, part)),
    )
  }

  /** Goes on to a later time, and returns what happens until then. `back` can return until `forget`. Yields regularly. */
  *advance(now: number): Generator<undefined, PreviewStep> {
    const { unplaced, histories } = this
    const { simulated, demands, concerned } = this.options
    simulated?.simulation.checkpoint()
    this.past.push([])
    const changes: StateChanges[] = []
    for (const [index, history] of histories.entries()) {
      yield
      const { states } = history
      const ofDatasource = yield* history.advance(now)
      changes.push(ofDatasource)
      this.past.at(-1)!.push({ states, changes: ofDatasource })
      if (simulated === undefined) continue
      for (const { from, to, before, after } of ofDatasource.ranges)
        if (before.rule !== after.rule) yield* simulated.changeRule(index, from, to, after.rule)
    }
    const ofSimulated = simulated && (yield* simulated.step())
    const decided: DecidedDatasource[] = []
    for (const [index, datasource] of unplaced.datasources.entries()) {
      const tallyOf = simulated
        ? (from: number, to: number) => simulated.othersIn(index, from, to)
        : (from: number, to: number) => segmentsIn(datasource, from, to)
      const one = yield* decideDatasource(datasource, unplaced, changes[index]!, tallyOf)
      const { segments, bytes } = newlyUnqueryable(
        this.firstUnqueryable[index]!,
        changes[index]!.parts.filter((part) => isUnqueryable(datasource, part)),
        tallyOf,
      )
      one.losses.add([['newlyUnqueryable', 1]], segments, bytes)
      if (ofSimulated) addSimulated(one, ofSimulated[index]!)
      decided.push(one)
    }
    if (demands) noteDemands(demands, decided)
    return stepOf(now, unplaced, concerned, decided)
  }

  /** Returns to the time before the last `advance`. Yields regularly. */
  *back(): Generator<undefined, void> {
    const { simulated } = this.options
    for (const [index, { states, changes }] of this.past.pop()!.entries()) {
      this.histories[index]!.returnTo(states)
      if (simulated === undefined) continue
      for (const { from, to, before, after } of changes.ranges)
        if (before.rule !== after.rule) yield* simulated.changeRule(index, from, to, before.rule)
    }
    if (simulated) yield* simulated.restore()
  }

  /** Forgets the past, which takes memory. */
  forget(): void {
    this.past = []
    this.options.simulated?.simulation.forget()
  }
}

/** Returns what rules apply to the segments of each datasource at the time of a preview. */
export const historiesOf = ({ cluster, datasources }: UnplacedOutcome): RuleHistory[] =>
  datasources.map((datasource) => new RuleHistory(datasource, cluster.tiers.length))

const segmentsIn = ({ columns: { bytesBefore } }: UnplacedDatasource, from: number, to: number): Tally => ({
  segments: to - from,
  bytes: bytesBefore[to]! - bytesBefore[from]!,
})

/** Whether segments have no replicas if all that are due fit. */
const isUnqueryable = ({ targetOf }: UnplacedDatasource, { rule, brokers }: SegmentPart): boolean =>
  targetOf(rule).copies + brokers === 0

/** Returns the segments in parts that are in none of the first parts. Both lists are in order. */
function newlyUnqueryable(
  first: readonly SegmentPart[],
  parts: readonly SegmentPart[],
  tallyOf: (from: number, to: number) => Tally,
): Tally {
  const sum = { segments: 0, bytes: 0 }
  const add = (from: number, to: number, sign: 1 | -1): void => {
    const { segments, bytes } = tallyOf(from, to)
    sum.segments += sign * segments
    sum.bytes += sign * bytes
  }
  let at = 0
  for (const { from, to } of parts) {
    add(from, to, 1)
    while (at < first.length && first[at]!.to <= from) at += 1
    for (let other = at; other < first.length && first[other]!.from < to; other += 1)
      add(Math.max(from, first[other]!.from), Math.min(to, first[other]!.to), -1)
  }
  return sum
}

/** What a step does to a datasource. */
interface DecidedDatasource {
  readonly summary: DatasourceSummary
  /** By holder. */
  readonly changes: readonly MutableTierChange[]
  readonly losses: Losses
  /** Replicas that do not fit, by tier. */
  readonly unplaced: readonly MutableCopyTally[]
  /** Bytes of all replicas on brokers. */
  readonly brokerBytes: number
  /** Holders in which more replicas are due than servers have storage. */
  readonly shortHolders: ReadonlySet<number>
}

/** Decides what a step does to a datasource if all replicas of the segments in `tallyOf` fit. */
function* decideDatasource(
  { columns, targetOf }: UnplacedDatasource,
  { cluster }: UnplacedOutcome,
  { ranges, parts }: StateChanges,
  tallyOf: (from: number, to: number) => Tally,
): Generator<undefined, DecidedDatasource> {
  const { bytesBefore } = columns
  const markedUnused = { segments: 0, bytes: 0 }
  const changed = new ChangedTargets()
  for (const { from, to, before, after } of ranges) {
    const [old, next] = [targetOf(before.rule), targetOf(after.rule)]
    changed.add(old, next, tallyOf(from, to))
    if (old.action === 'drop' || next.action !== 'drop') continue
    markedUnused.segments += to - from
    markedUnused.bytes += bytesBefore[to]! - bytesBefore[from]!
  }
  const losses = new Losses()
  const unplaced = cluster.tiers.map(noCopies)
  let brokerBytes = 0
  for (const { from, to, rule, brokers } of parts) {
    const target = targetOf(rule)
    const { segments, bytes } = tallyOf(from, to)
    brokerBytes += brokers * bytes
    if (segments === 0) continue
    const missing = target.short.reduce((sum, { copies, due }) => sum + due - copies, 0)
    losses.add(lossesOf(target, target.copies + brokers, missing), segments, bytes)
    for (const tier of target.waitingTiers) losses.waitingTiers.add(tier)
    for (const { holder, copies, due } of target.short) {
      addCopies(unplaced[holder]!, segments, due - copies, bytes)
      losses.fullTiers.add(cluster.tiers[holder]!.name)
    }
  }
  const changes = cluster.holders.map(noChange)
  yield* changed.addTo(changes)
  const summary = {
    dataSource: columns.dataSource,
    tiers: changes.slice(0, cluster.tiers.length),
    markedUnused,
    ...keptIntervals(columns, parts, ({ rule }) => targetOf(rule).action !== 'drop'),
  }
  return { summary, changes, losses, unplaced, brokerBytes, shortHolders: changed.shortHolders() }
}

/** Adds the segments in the simulation. */
function addSimulated({ changes, losses, unplaced }: DecidedDatasource, simulated: SimulatedStep): void {
  losses.addAll(simulated.losses)
  for (const [tier, change] of simulated.changes.entries()) {
    addTally(unplaced[tier]!, simulated.unplaced[tier]!)
    for (const name of ['before', 'after', 'loaded', 'dropped'] as const)
      addTally(changes[tier]![name], change[name])
  }
}

function noteDemands(demands: readonly LaterDemand[], decided: readonly DecidedDatasource[]): void {
  for (const [holder, demand] of demands.entries()) {
    let bytes = 0
    let droppedBytes = 0
    for (const { summary, changes, shortHolders, brokerBytes } of decided) {
      const isBrokers = holder === summary.tiers.length
      bytes += isBrokers ? brokerBytes : changes[holder]!.after.bytes
      droppedBytes += changes[holder]!.dropped.bytes
      demand.isShort ||= shortHolders.has(holder)
    }
    demand.bytes = Math.max(demand.bytes, bytes)
    demand.bytesWithDrops = Math.max(demand.bytesWithDrops, bytes + droppedBytes)
  }
}

function stepOf(
  now: number,
  { cluster }: UnplacedOutcome,
  concerned: ReadonlySet<string>,
  decided: readonly DecidedDatasource[],
): PreviewStep {
  const ofConcerned = decided.filter(({ summary }) => concerned.has(summary.dataSource))
  const losses = new Losses()
  for (const one of ofConcerned) losses.addAll(one.losses)
  const tiers = cluster.tiers.map((tier, index): TierSummary => {
    const doesNotFit = noCopies()
    for (const { unplaced } of decided) addTally(doesNotFit, unplaced[index]!)
    const sumOf = (name: 'before' | 'after'): number =>
      decided.reduce((sum, { changes }) => sum + changes[index]![name].bytes, 0)
    return {
      tier: tier.name,
      servers: tier.servers.length,
      capacityBytes: capacityOf(tier),
      bytesBefore: sumOf('before'),
      bytesAfter: sumOf('after'),
      doesNotFit,
    }
  })
  return { now, datasources: ofConcerned.map(({ summary }) => summary), tiers, losses }
}

/** Counts segments that change from one target to another, independent of the number of tiers. */
class ChangedTargets {
  private readonly tallies = new Map<RuleTarget, Map<RuleTarget, { segments: number; bytes: number }>>()

  add(old: RuleTarget, next: RuleTarget, { segments, bytes }: Tally): void {
    let ofOld = this.tallies.get(old)
    if (ofOld === undefined) {
      ofOld = new Map()
      this.tallies.set(old, ofOld)
    }
    const tally = ofOld.get(next)
    if (tally === undefined) {
      ofOld.set(next, { segments, bytes })
      return
    }
    tally.segments += segments
    tally.bytes += bytes
  }

  /** Adds the changes by holder. Yields regularly. */
  *addTo(changes: readonly MutableTierChange[]): Generator<undefined, void> {
    for (const [old, ofOld] of this.tallies) {
      for (const [next, { segments, bytes }] of ofOld) {
        yield
        for (const { holder, copies } of old.holders)
          addChange(changes[holder]!, segments, bytes, copies, next.byHolder.get(holder)?.copies ?? 0)
        for (const { holder, copies } of next.holders)
          if (!old.byHolder.has(holder)) addChange(changes[holder]!, segments, bytes, 0, copies)
      }
    }
  }

  /** Returns the holders in which load rules require more replicas than servers have storage. */
  shortHolders(): Set<number> {
    const targets = new Set([...this.tallies.values()].flatMap((ofOld) => [...ofOld.keys()]))
    const short = [...targets].flatMap((target) => (target.action === 'load' ? target.short : []))
    return new Set(short.map(({ holder }) => holder))
  }
}
