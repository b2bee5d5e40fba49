import { formatInstant } from '../time/index.ts'
import type { AnsweredLaterLoss, AnsweredLaterLosses } from './answer.ts'
import { effectsOnSegments, type LossName, lossNames, maxTiersListed } from './effect-names.ts'
import type { RuleTarget } from './rule-targets.ts'
import { addCopies, addTally, type CopyTally, type MutableCopyTally, noCopies } from './tallies.ts'

/** A loss of a segment, with the number of affected replicas: 1 for a loss of the segment itself. */
export type SegmentLoss = readonly [name: LossName, copies: number]

/** Returns the losses of a segment with `after` replicas, of which `unplaced` more are due but have no space. */
export function lossesOf(
  { action, waiting, beyondServers }: RuleTarget,
  after: number,
  unplaced: number,
): SegmentLoss[] {
  const losses: readonly SegmentLoss[] = [
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
  private readonly tallies = new Map<LossName, MutableCopyTally>(lossNames.map((name) => [name, noCopies()]))
  /** Tiers without servers that segments wait for. */
  readonly waitingTiers = new Set<string>()
  /** Tiers without space for replicas that are due. */
  readonly fullTiers = new Set<string>()

  of(name: LossName): CopyTally {
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

/**
 * Returns the losses that grow after the preview, as JSON: the largest loss at one time, and when more is affected than
 * `now` for the first time.
 */
export function formatLaterLosses(
  now: Pick<Losses, 'of'>,
  steps: readonly { readonly now: number; readonly losses: Losses }[],
): AnsweredLaterLosses {
  const entries = lossNames.flatMap((name): [LossName, AnsweredLaterLoss][] => {
    const first = steps.find(({ losses }) => losses.of(name).copies > now.of(name).copies)
    if (first === undefined) return []
    const largest = steps.reduce(
      (found, { losses }) => (losses.of(name).copies > found.of(name).copies ? losses : found),
      first.losses,
    )
    const { segments, copies, bytes } = largest.of(name)
    const tiers = tiersOf(name, largest)
    return [
      [
        name,
        {
          from: formatInstant(first.now),
          segments,
          ...(effectsOnSegments.has(name) ? {} : { copies }),
          bytes,
          ...(tiers === undefined ? {} : { tiers: [...tiers].sort().slice(0, maxTiersListed) }),
        },
      ],
    ]
  })
  return Object.fromEntries(entries)
}

const tiersOf = (name: LossName, losses: Losses): ReadonlySet<string> | undefined =>
  name === 'doesNotFit' ? losses.fullTiers : name === 'waitingForTier' ? losses.waitingTiers : undefined
