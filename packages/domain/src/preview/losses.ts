import { type LossName, lossNames } from './effect-names.ts'
import type { RuleTarget } from './rule-targets.ts'
import { addCopies, addTally, type CopyTally, type MutableCopyTally, noCopies } from './tallies.ts'

/** Segments that are unqueryable, and were not at the time of the preview, are counted, too. */
const countedNames = [...lossNames, 'newlyUnqueryable'] as const
export type CountedName = (typeof countedNames)[number]

/** A loss of a segment, with the number of affected replicas: 1 for a loss of the segment itself. */
export type SegmentLoss<Name extends CountedName = CountedName> = readonly [name: Name, copies: number]

/** Returns the losses of a segment with `after` replicas, of which `unplaced` more are due but have no space. */
export function lossesOf(
  { action, waiting, beyondServers }: RuleTarget,
  after: number,
  unplaced: number,
): SegmentLoss<LossName>[] {
  const losses: readonly SegmentLoss<LossName>[] = [
    ['unqueryable', after === 0 ? 1 : 0],
    ['unused', action === 'drop' ? 1 : 0],
    ['underReplicated', after === 0 ? 0 : unplaced + waiting + beyondServers],
    ['doesNotFit', unplaced],
    ['waitingForTier', waiting],
  ]
  return losses.filter(([, copies]) => copies > 0)
}

/** The losses of all segments at one time. */
export class Losses {
  private readonly tallies = new Map<CountedName, MutableCopyTally>(
    countedNames.map((name) => [name, noCopies()]),
  )
  /** Tiers without servers that segments wait for. */
  readonly waitingTiers = new Set<string>()
  /** Tiers without space for replicas that are due. */
  readonly fullTiers = new Set<string>()

  of(name: CountedName): CopyTally {
    return this.tallies.get(name)!
  }

  /** Adds the losses of segments that have `bytes` bytes in total. A negative sign removes them. */
  add(losses: readonly SegmentLoss[], segments: number, bytes: number, sign: 1 | -1 = 1): void {
    for (const [name, copies] of losses)
      addCopies(this.tallies.get(name)!, sign * segments, copies, sign * bytes)
  }

  addAll(other: Losses): void {
    for (const [name, tally] of this.tallies) addTally(tally, other.of(name))
    for (const tier of other.waitingTiers) this.waitingTiers.add(tier)
    for (const tier of other.fullTiers) this.fullTiers.add(tier)
  }
}
