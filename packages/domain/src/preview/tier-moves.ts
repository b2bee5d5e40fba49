import type { Interval } from '../time/index.ts'
import { type Outcome, outcomeOf } from './decide-outcome.ts'
import { type CopyChange, extentsOfChanges, tallyChanges } from './pieces.ts'
import { addCopies, type CopyTally, type MutableCopyTally, noCopies } from './tallies.ts'

/** Replicas that leave one tier and appear in another. Without `from` they are new, and without `to` they are dropped. */
export interface TierMove extends CopyTally {
  readonly from: string | undefined
  readonly to: string | undefined
  /** From the start of its first segment to the end of its last. */
  readonly interval: Interval
}

/**
 * Returns which replicas of a datasource go from which tier to which. Where a segment leaves several tiers for several
 * others, they are paired in the order of their names. Yields regularly.
 */
export function* tierMovesOf(outcome: Outcome, dataSource: string): Generator<undefined, TierMove[]> {
  const tiers = outcome.cluster.tiers.map(({ name }) => name)
  const tallies = new Map<string, { from: number; to: number; interval: Interval; tally: MutableCopyTally }>()
  const datasource = outcomeOf(outcome, dataSource)
  if (datasource === undefined) return []
  const { columns, pieces } = datasource
  const tallyOf = yield* tallyChanges(pieces, columns)
  const extentOf = yield* extentsOfChanges(pieces, columns)
  for (const [index, change] of pieces.changes.entries()) {
    yield
    const { segments, bytes } = tallyOf[index]!
    for (const { from, to, copies } of movesOf(change)) {
      const key = `${from} ${to}`
      const extent = extentOf[index]!
      const move = tallies.get(key) ?? { from, to, interval: extent, tally: noCopies() }
      tallies.set(key, { ...move, interval: spanOf(move.interval, extent) })
      addCopies(move.tally, segments, copies, bytes)
    }
  }
  return [...tallies.values()].map(({ from, to, interval, tally }) => ({
    from: tiers[from],
    to: tiers[to],
    interval,
    ...tally,
  }))
}

const spanOf = (a: Interval, b: Interval): Interval => ({
  start: Math.min(a.start, b.start),
  end: Math.max(a.end, b.end),
})

/** Yields the moves of each segment with a change, between tiers given by index; -1 stands for none. */
function* movesOf(
  change: CopyChange,
): Generator<{ readonly from: number; readonly to: number; readonly copies: number }, void> {
  const loads: [tier: number, copies: number][] = []
  const drops: [tier: number, copies: number][] = []
  change.forEachTier((tier, before, after) => {
    if (after > before) loads.push([tier, after - before])
    else if (before > after) drops.push([tier, before - after])
  })
  for (const drop of drops) {
    for (const load of loads) {
      const copies = Math.min(drop[1], load[1])
      if (copies === 0) continue
      yield { from: drop[0], to: load[0], copies }
      drop[1] -= copies
      load[1] -= copies
    }
    if (drop[1] > 0) yield { from: drop[0], to: -1, copies: drop[1] }
  }
  for (const [tier, copies] of loads) if (copies > 0) yield { from: -1, to: tier, copies }
}
