import { Affected } from './affected.ts'
import type { AnsweredEffects } from './answer.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import { type EffectName, effectNames, effectsOnSegments, maxTiersListed } from './effect-names.ts'
import { lossesOf } from './losses.ts'
import type { CopyChange } from './pieces.ts'

/** The effects of a change on the segments of one datasource, or of several. */
export class Effects {
  private readonly byName = new Map<EffectName, Affected>(effectNames.map((name) => [name, new Affected()]))
  private readonly waitingTiers = new Set<string>()
  private queryableBefore = 0

  /** Returns the segments with an effect. */
  of(name: EffectName): Affected {
    return this.byName.get(name)!
  }

  /** Counts unqueryable segments that have a replica before the change. */
  noteQueryableBefore(segments: number): void {
    this.queryableBefore += segments
  }

  noteWaitingTiers(tiers: readonly string[]): void {
    for (const tier of tiers) this.waitingTiers.add(tier)
  }

  addAll(other: Effects): void {
    for (const name of effectNames) this.of(name).addAll(other.of(name))
    this.noteWaitingTiers([...other.waitingTiers])
    this.queryableBefore += other.queryableBefore
  }

  /** Returns the effects as JSON. */
  format(): AnsweredEffects {
    const { queryableBefore } = this
    const tiers = [...this.waitingTiers].sort().slice(0, maxTiersListed)
    const entries = effectNames.map((name) => [
      name,
      {
        ...this.of(name).format(!effectsOnSegments.has(name)),
        ...(name === 'unqueryable' ? { queryableBefore } : {}),
        ...(name === 'waitingForTier' ? { tiers } : {}),
      },
    ])
    return Object.fromEntries(entries) as AnsweredEffects
  }
}

// Number of pieces between two pauses.
const slice = 4096

/** Returns the effects of a change on the segments of a datasource. Yields regularly. */
export function* effectsOf({ columns, pieces, held }: DatasourceOutcome): Generator<undefined, Effects> {
  const effects = new Effects()
  const { ends, changeAt, changes } = pieces
  const affectedBy = changes.map((change) => copiesByEffect(change))
  for (const { target } of changes) effects.noteWaitingTiers(target.waitingTiers)
  let from = 0
  for (let piece = 0; piece < ends.length; piece += 1) {
    if (piece % slice === 0) yield
    const to = ends[piece]!
    const at = changeAt[piece]!
    for (const [name, copies] of affectedBy[at]!) effects.of(name).addPositions(columns, from, to, copies)
    const { before, after } = changes[at]!
    if (after === 0 && before > 0) effects.noteQueryableBefore(to - from)
    from = to
  }
  effects.of('overshadowed').addAll(held.overshadowed.segments)
  effects.of('dropped').addAll(held.overshadowed.dropped)
  return effects
}

/** Returns the effects on each of the segments with a change, with the number of affected copies. */
function copiesByEffect(change: CopyChange): (readonly [name: EffectName, copies: number])[] {
  const { target, after, loaded, dropped, unplaced } = change
  const moved = Math.min(loaded, dropped)
  const copies: readonly (readonly [name: EffectName, copies: number])[] = [
    ...lossesOf(target, after, unplaced),
    ['moved', moved],
    ['loaded', loaded - moved],
    ['dropped', dropped - moved],
  ]
  return copies.filter(([, count]) => count > 0)
}
