import { Affected } from './affected.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'
import type { PreviewServer } from './servers-by-tier.ts'
import type { Stretch } from './stretches.ts'
import { addCopies, type CopyTally, noCopies } from './tallies.ts'

/** The replicas of a segment by tier, before a change. Segments with equal replicas share one object. */
export interface HeldCopies {
  /** Replicas by index in the tiers that are held in. */
  readonly byTier: ReadonlyMap<number, number>
  readonly brokers: number
}

/** Which replicas the segments of a datasource have before a change, in runs of positions with equal replicas. */
export interface HeldRuns {
  /** Names of the tiers of the current historicals, in order. */
  readonly tiers: readonly string[]
  /** The position after each run. */
  readonly ends: readonly number[]
  /** What the segments of each run have. */
  readonly copies: readonly HeldCopies[]
  readonly overshadowed: HeldOvershadowed
}

/** Overshadowed segments and their replicas, which are dropped whatever the rules are. */
interface HeldOvershadowed {
  readonly segments: Affected
  /** Those of them that have replicas on historicals. */
  readonly dropped: Affected
  /** Their replicas, in the order of the tiers. */
  readonly byTier: readonly CopyTally[]
  /** Their replicas on brokers. */
  readonly onBrokers: CopyTally
}

// Number of segments between two pauses.
const slice = 16_384

/**
 * Finds the replicas of segments. Segments refer to servers by their index in `servers`; without servers, they have no
 * replicas. Yields regularly.
 */
export function* heldRunsOf(
  segments: PreviewSegments,
  { indexes, count, overshadowedIndexes }: SegmentColumns,
  servers: readonly PreviewServer[],
): Generator<undefined, HeldRuns> {
  const historicals = servers.filter(({ type }) => type === 'historical')
  const tiers = [...new Set(historicals.map(({ tier }) => tier))].sort()
  const kinds = new CopyKinds(tiers, servers)
  const ends: number[] = []
  const copies: HeldCopies[] = []
  if (servers.length === 0 && count > 0) {
    ends.push(count)
    copies.push(kinds.of(segments, undefined))
  } else {
    for (let position = 0; position < count; position += 1) {
      if (position % slice === 0) yield
      const found = kinds.of(segments, indexes[position]!)
      if (found === copies.at(-1)) ends[ends.length - 1] = position + 1
      else {
        copies.push(found)
        ends.push(position + 1)
      }
    }
  }
  const overshadowed = {
    segments: new Affected(),
    dropped: new Affected(),
    byTier: tiers.map(noCopies),
    onBrokers: noCopies(),
  }
  for (const [at, index] of overshadowedIndexes.entries()) {
    if (at % slice === 0) yield
    const [start, end, sizeBytes] = [segments.start(index), segments.end(index), segments.sizeBytes(index)]
    overshadowed.segments.add(start, end, 1, sizeBytes)
    let dropped = 0
    const { byTier, brokers } = kinds.of(segments, servers.length === 0 ? undefined : index)
    addCopies(overshadowed.onBrokers, 1, brokers, sizeBytes)
    for (const [tier, held] of byTier) {
      dropped += held
      addCopies(overshadowed.byTier[tier]!, 1, held, sizeBytes)
    }
    if (dropped > 0) overshadowed.dropped.add(start, end, dropped, sizeBytes)
  }
  return { tiers, ends, copies, overshadowed }
}

/** Consecutive segments with the same rule and the same replicas before a change. */
interface HeldRange extends Stretch {
  readonly copies: HeldCopies
}

/** Cuts stretches where the replicas before the change differ. */
export function* heldRanges(
  stretches: readonly Stretch[],
  { ends, copies }: HeldRuns,
): Generator<HeldRange, void> {
  let run = 0
  for (const { from, to, rule } of stretches) {
    for (let position = from; position < to; ) {
      // Chains are in the order of positions, and so are runs.
      while (ends[run]! <= position) run += 1
      const end = Math.min(to, ends[run]!)
      yield { from: position, to: end, rule, copies: copies[run]! }
      position = end
    }
  }
}

/** What a segment has after the servers that were seen so far, and what it has with one more. */
interface Kind extends HeldCopies {
  /** By tier; the last one is for brokers. */
  readonly next: (Kind | undefined)[]
}

/** The different replicas that segments have. A cluster has few of them, so it compares no maps. */
class CopyKinds {
  private readonly byText = new Map<string, Kind>()
  private readonly none: Kind
  private readonly holderOf: readonly number[]
  private readonly brokers: number
  private kind: Kind

  constructor(tiers: readonly string[], servers: readonly PreviewServer[]) {
    const places = new Map(tiers.map((tier, place) => [tier, place]))
    this.brokers = tiers.length
    this.holderOf = servers.map(({ type, tier }) => (type === 'broker' ? tiers.length : places.get(tier)!))
    this.none = this.kindOf(new Map(), 0)
    this.kind = this.none
  }

  /** Returns the replicas of a segment; none without an index. */
  of(segments: PreviewSegments, index: number | undefined): HeldCopies {
    this.kind = this.none
    if (index !== undefined) segments.forEachCopy(index, this.add)
    return this.kind
  }

  private readonly add = (server: number): void => {
    const holder = this.holderOf[server]!
    const { byTier, brokers, next } = this.kind
    next[holder] ??=
      holder === this.brokers
        ? this.kindOf(byTier, brokers + 1)
        : this.kindOf(new Map(byTier).set(holder, (byTier.get(holder) ?? 0) + 1), brokers)
    this.kind = next[holder]!
  }

  private kindOf(unordered: ReadonlyMap<number, number>, brokers: number): Kind {
    const byTier = new Map([...unordered].sort(([a], [b]) => a - b))
    const text = JSON.stringify([[...byTier], brokers])
    const known = this.byText.get(text)
    if (known !== undefined) return known
    const kind = { byTier, brokers, next: [] }
    this.byText.set(text, kind)
    return kind
  }
}
