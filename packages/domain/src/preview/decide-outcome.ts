import { invalidInput } from '../failure/index.ts'
import { Heap } from '../heap/index.ts'
import { type Rule, RuleBoundaries } from '../rules/index.ts'
import { type RuleTarget, RuleTargets } from './rule-targets.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'
import { columnsOf } from './segments.ts'
import { groupByTier, type PreviewServer, type PreviewTier, type ServersByTier } from './servers-by-tier.ts'
import { certainlyFits, type TierDemand, TierRoom } from './simulated-placement.ts'
import { type Stretch, stretchesOf } from './stretches.ts'
import { addCopies, type CopyTally, noCopies } from './tallies.ts'

/** The rules of a datasource after the change. */
export interface PreviewRules {
  readonly own: readonly Rule[]
  readonly defaults: readonly Rule[]
}

/** Input of a preview. */
export interface PreviewInput {
  /** Epoch milliseconds. */
  readonly now: number
  readonly datasources: readonly (PreviewRules & {
    readonly segments: PreviewSegments
    /** The segments in columns, if already known. */
    readonly columns: SegmentColumns | undefined
  })[]
  /** The servers after the change. */
  readonly servers: readonly PreviewServer[]
  /** The current servers. Segments refer to them by their index in this list. */
  readonly serversBefore: readonly PreviewServer[]
}

/** What happens to the segments of one datasource. */
export interface DatasourceOutcome extends PreviewRules {
  readonly segments: PreviewSegments
  readonly columns: SegmentColumns
  /** All rules in evaluation order. */
  readonly boundaries: RuleBoundaries
  /** Returns what a rule, given by number, results in. */
  readonly targetOf: (rule: number) => RuleTarget
  readonly stretches: readonly Stretch[]
  /** Replicas at each position before the change, by holder. Undefined for holders without replicas. */
  readonly before: readonly (Uint16Array | undefined)[]
  /** Replicas of overshadowed segments before the change, by holder. All of them are dropped. */
  readonly overshadowedBefore: readonly CopyTally[]
  /** Replicas of each overshadowed segment on historicals before the change. */
  readonly overshadowedCopies: Uint16Array
  /** Replicas at each position after the change, by holder. Undefined for holders that certainly have enough space. */
  readonly placed: (Uint16Array | undefined)[]
}

/** What the rules result in at one point in time. */
export interface Outcome {
  readonly now: number
  readonly cluster: ServersByTier
  readonly datasources: readonly DatasourceOutcome[]
}

// Number of segments between two pauses.
const slice = 16_384

// Maximum number of counters for replicas that are placed one by one. Each takes two bytes.
const maxCounters = 40_000_000

/** Decides what happens to every segment. Yields regularly. */
export function* decideOutcome(input: PreviewInput): Generator<undefined, Outcome> {
  const { now, servers, serversBefore } = input
  const historicalsBefore = serversBefore.filter(({ type }) => type === 'historical')
  const cluster = groupByTier(
    servers,
    historicalsBefore.map(({ tier }) => tier),
  )
  const targets = new RuleTargets(cluster)
  const datasources: DatasourceOutcome[] = []
  for (const { segments, columns: known, own, defaults } of input.datasources) {
    const columns = known ?? (yield* columnsOf(segments))
    const boundaries = new RuleBoundaries(own, defaults, now)
    const stretches = yield* stretchesOf(columns, boundaries)
    const copies = yield* countCopies(segments, columns, serversBefore, cluster)
    datasources.push({
      own,
      defaults,
      segments,
      columns,
      boundaries,
      targetOf: (rule) => targets.of(boundaries.wantedBy(rule)),
      stretches,
      ...copies,
      placed: cluster.holders.map(() => undefined),
    })
  }
  const outcome = { now, cluster, datasources }
  yield* placeWhereTight(outcome)
  return outcome
}

function* countCopies(
  segments: PreviewSegments,
  { indexes, count, overshadowedIndexes }: SegmentColumns,
  servers: readonly PreviewServer[],
  { holders, tiers }: ServersByTier,
): Generator<undefined, Pick<DatasourceOutcome, 'before' | 'overshadowedBefore' | 'overshadowedCopies'>> {
  const before: (Uint16Array | undefined)[] = holders.map(() => undefined)
  const overshadowedBefore = holders.map(noCopies)
  const overshadowedCopies = new Uint16Array(overshadowedIndexes.length)
  if (servers.length === 0) return { before, overshadowedBefore, overshadowedCopies }
  const tierPlaces = new Map(tiers.map(({ name }, place) => [name, place]))
  const holderOf = servers.map(({ type, tier }) => (type === 'broker' ? tiers.length : tierPlaces.get(tier)!))
  let position = 0
  const note = (server: number): void => {
    const holder = holderOf[server]!
    before[holder] ??= new Uint16Array(count)
    before[holder][position]! += 1
  }
  for (; position < count; position += 1) {
    if (position % slice === 0) yield
    segments.forEachCopy(indexes[position]!, note)
  }
  for (const [at, index] of overshadowedIndexes.entries()) {
    if (at % slice === 0) yield
    const copies = new Map<number, number>()
    segments.forEachCopy(index, (server) => {
      const holder = holderOf[server]!
      copies.set(holder, (copies.get(holder) ?? 0) + 1)
      if (holder < tiers.length) overshadowedCopies[at]! += 1
    })
    for (const [holder, count] of copies)
      addCopies(overshadowedBefore[holder]!, 1, count, segments.sizeBytes(index))
  }
  return { before, overshadowedBefore, overshadowedCopies }
}

/** Places replicas one by one in tiers that may run out of space: loaded replicas stay, then the newest come first. */
function* placeWhereTight({ cluster, datasources }: Outcome): Generator<undefined, void> {
  const demands = yield* demandsOf(datasources)
  const tight = [...demands.keys()].filter(
    (holder) => !certainlyFits(cluster.holders[holder]!, demands.get(holder)!),
  )
  const segments = datasources.reduce((sum, { columns }) => sum + columns.count, 0)
  if (tight.length * segments > maxCounters) {
    throw invalidInput(
      `The preview is too large: [${segments}] segments in [${tight.length}] tiers that may run out of space. Preview fewer segments or tiers, or servers with enough space for all replicas.`,
    )
  }
  for (const holder of tight.sort((a, b) => a - b))
    yield* placeIn(datasources, cluster.holders[holder]!, holder)
}

function* placeIn(
  datasources: readonly DatasourceOutcome[],
  shape: PreviewTier,
  holder: number,
): Generator<undefined, void> {
  for (const datasource of datasources) datasource.placed[holder] = new Uint16Array(datasource.columns.count)
  const room = new TierRoom(shape)
  let work = 0
  for (const isKept of [true, false]) {
    for (const { datasource, position, copies } of newestFirst(datasources, holder)) {
      const kept = Math.min(copies, datasource.before[holder]?.[position] ?? 0)
      const wanted = isKept ? kept : copies - kept
      work += 1 + wanted
      if (work >= slice) {
        work = 0
        yield
      }
      if (wanted === 0) continue
      const { bytesBefore } = datasource.columns
      const sizeBytes = bytesBefore[position + 1]! - bytesBefore[position]!
      datasource.placed[holder]![position]! += room.take(wanted, sizeBytes)
    }
  }
}

/** Returns the total demand of each holder, without holders that get nothing. */
function* demandsOf(
  datasources: readonly DatasourceOutcome[],
): Generator<undefined, Map<number, TierDemand>> {
  // Sums by target first, then by holder, because there may be many segments and many holders.
  const byTarget = new Map<RuleTarget, TierDemand>()
  let seen = 0
  for (const { columns, stretches, targetOf } of datasources) {
    const { bytesBefore } = columns
    for (const { from, to, rule } of stretches) {
      const target = targetOf(rule)
      if (target.holders.length === 0) continue
      const sum = byTarget.get(target) ?? { bytes: 0, largestSegmentBytes: 0 }
      byTarget.set(target, sum)
      sum.bytes += bytesBefore[to]! - bytesBefore[from]!
      for (let position = from; position < to; position += 1) {
        const sizeBytes = bytesBefore[position + 1]! - bytesBefore[position]!
        if (sizeBytes > sum.largestSegmentBytes) sum.largestSegmentBytes = sizeBytes
        seen += 1
        if (seen % slice === 0) yield
      }
    }
  }
  const demands = new Map<number, TierDemand>()
  for (const [{ holders }, { bytes, largestSegmentBytes }] of byTarget) {
    yield
    for (const { holder, copies } of holders) {
      if (copies === 0) continue
      const demand = demands.get(holder) ?? { bytes: 0, largestSegmentBytes: 0 }
      demands.set(holder, demand)
      demand.bytes += copies * bytes
      demand.largestSegmentBytes = Math.max(demand.largestSegmentBytes, largestSegmentBytes)
    }
  }
  return demands
}

/** Yields the segments that should have replicas on a holder, newest first. The yielded object is reused. */
function* newestFirst(datasources: readonly DatasourceOutcome[], holder: number): Generator<Wanted, void> {
  // One reader per range would be too many. The ranges of a chain follow each other, so read each chain backward.
  const readers = new Heap<Reader>(
    (a, b) =>
      a.start > b.start || (a.start === b.start && (a.end > b.end || (a.end === b.end && a.place > b.place))),
  )
  for (const reader of datasources.flatMap((datasource) => readersOf(datasource, holder))) {
    reader.place = readers.size
    readers.push(reader)
  }
  for (let reader = readers.pop(); reader !== undefined; reader = readers.pop()) {
    yield reader
    if (reader.next()) readers.push(reader)
  }
}

interface Wanted {
  datasource: DatasourceOutcome
  position: number
  copies: number
}

interface Reader extends Wanted {
  /** Index among the readers. It keeps equal segments of one reader together. */
  place: number
  start: number
  end: number
  next(): boolean
}

/** Returns a reader for each chain, positioned at the newest segment that should have replicas. */
function readersOf(datasource: DatasourceOutcome, holder: number): Reader[] {
  const { columns, stretches, targetOf } = datasource
  const copiesOf = (rule: number): number => targetOf(rule).byHolder.get(holder)?.copies ?? 0
  let stretchAt = 0
  const readers: Reader[] = []
  for (const chainEnd of columns.chainEnds) {
    const ofChain: Stretch[] = []
    for (; stretchAt < stretches.length && stretches[stretchAt]!.to <= chainEnd; stretchAt += 1) {
      if (copiesOf(stretches[stretchAt]!.rule) > 0) ofChain.push(stretches[stretchAt]!)
    }
    const reader: Reader = {
      datasource,
      place: 0,
      position: ofChain.at(-1)?.to ?? 0,
      copies: 0,
      start: 0,
      end: 0,
      next: () => {
        let stretch = ofChain.at(-1)
        if (stretch === undefined) return false
        reader.position -= 1
        if (reader.position < stretch.from) {
          ofChain.pop()
          stretch = ofChain.at(-1)
          if (stretch === undefined) return false
          reader.position = stretch.to - 1
        }
        reader.copies = copiesOf(stretch.rule)
        reader.start = columns.starts[reader.position]!
        reader.end = columns.ends[reader.position]!
        return true
      },
    }
    if (reader.next()) readers.push(reader)
  }
  return readers
}
