import type { Outcome } from './decide-outcome.ts'
import type { MutableCopyTally } from './tallies.ts'
import { addCopies, type CopyTally, noCopies } from './tallies.ts'

/** Replicas that leave one tier and appear in another. Without `from` they are new, and without `to` they are dropped. */
export interface TierMove extends CopyTally {
  readonly from: string | undefined
  readonly to: string | undefined
}

// Number of segments between two pauses.
const slice = 16_384

/**
 * Returns which replicas of a datasource go from which tier to which. Where a segment leaves several tiers for several
 * others, they are paired in the order of their names. Yields regularly.
 */
export function* tierMovesOf(
  { cluster, datasources }: Outcome,
  dataSource: string,
): Generator<undefined, TierMove[]> {
  const tiers = cluster.tiers.map(({ name }) => name)
  const tallies = new Map<string, { from: number; to: number; tally: MutableCopyTally }>()
  const add = (from: number, to: number, copies: number, bytes: number): void => {
    const key = `${from} ${to}`
    const move = tallies.get(key) ?? { from, to, tally: noCopies() }
    tallies.set(key, move)
    addCopies(move.tally, 1, copies, bytes)
  }
  const datasource = datasources.find(({ columns }) => columns.dataSource === dataSource)
  if (datasource === undefined) return []
  const { columns, stretches, targetOf, before, placed } = datasource
  for (const { from, to, rule } of stretches) {
    const { byHolder } = targetOf(rule)
    for (let position = from; position < to; position += 1) {
      if (position % slice === 0) yield
      const bytes = columns.bytesBefore[position + 1]! - columns.bytesBefore[position]!
      const loads: [tier: number, copies: number][] = []
      const drops: [tier: number, copies: number][] = []
      for (let tier = 0; tier < tiers.length; tier += 1) {
        const held = before[tier]?.[position] ?? 0
        const after = placed[tier]?.[position] ?? byHolder.get(tier)?.copies ?? 0
        if (after > held) loads.push([tier, after - held])
        else if (held > after) drops.push([tier, held - after])
      }
      for (const drop of drops) {
        for (const load of loads) {
          const copies = Math.min(drop[1], load[1])
          if (copies === 0) continue
          add(drop[0], load[0], copies, bytes)
          drop[1] -= copies
          load[1] -= copies
        }
        if (drop[1] > 0) add(drop[0], -1, drop[1], bytes)
      }
      for (const [tier, copies] of loads) if (copies > 0) add(-1, tier, copies, bytes)
    }
  }
  return [...tallies.values()].map(({ from, to, tally }) => ({ from: tiers[from], to: tiers[to], ...tally }))
}
