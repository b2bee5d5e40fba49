import { formatInterval } from '../time/index.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import { Days } from './days.ts'
import type { Outcome } from './decide-outcome.ts'
import type { RuleTarget } from './rule-targets.ts'
import { maxBlock, SegmentCounter } from './segment-counter.ts'

/** What a rule change does to segments. A segment may count for several effects. */
export const effectNames = [
  /** Visible segments without any replica afterwards, used or not. */
  'unqueryable',
  /** Visible segments that a drop rule marks unused. */
  'unused',
  /** Segments that are marked unused because newer versions cover their intervals. */
  'overshadowed',
  /** Segments that can be queried with fewer replicas than their rule requires. Copies are those that are missing. */
  'underReplicated',
  /** Replicas that no server has space for. */
  'doesNotFit',
  /** Replicas that a rule requires in tiers without servers. */
  'waitingForTier',
  /** Replicas that are dropped from one tier and loaded in another. */
  'moved',
  /** Other replicas that historicals load. */
  'loaded',
  /** Other replicas that historicals drop. */
  'dropped',
] as const

export type EffectName = (typeof effectNames)[number]

// Effects on segments instead of replicas: their bytes are those of the segments.
const effectsOnSegments: ReadonlySet<EffectName> = new Set(['unqueryable', 'unused', 'overshadowed'])

/** Segments with the same effect. */
class Affected {
  segments = 0
  copies = 0
  /** Bytes of all copies. */
  bytes = 0
  private start = Infinity
  private end = -Infinity
  private readonly days = new Days()

  /** Adds a segment with a number of affected copies, or 1 for an effect on the segment itself. */
  add(start: number, end: number, copies: number, sizeBytes: number): void {
    this.segments += 1
    this.copies += copies
    this.bytes += copies * sizeBytes
    if (start < this.start) this.start = start
    if (end > this.end) this.end = end
    this.days.add(start, end)
  }

  addAll(other: Affected): void {
    this.segments += other.segments
    this.copies += other.copies
    this.bytes += other.bytes
    this.start = Math.min(this.start, other.start)
    this.end = Math.max(this.end, other.end)
    this.days.addAll(other.days)
  }

  format(withCopies: boolean): Record<string, unknown> {
    const { segments, copies, bytes, start, end } = this
    const days = this.days.count()
    return {
      segments,
      ...(withCopies ? { copies } : {}),
      bytes,
      days: Number.isFinite(days) ? days : null,
      interval: segments === 0 ? null : formatInterval({ start, end }),
    }
  }
}

/** The effects of a change on the segments of one datasource, or of several. */
export class Effects {
  private readonly byName = new Map<EffectName, Affected>(effectNames.map((name) => [name, new Affected()]))
  private readonly waitingTiers = new Set<string>()
  private queryableBefore = 0

  /** Returns the segments with an effect. */
  of(name: EffectName): Affected {
    return this.byName.get(name)!
  }

  /** Counts an unqueryable segment that has a replica before the change. */
  noteQueryableBefore(): void {
    this.queryableBefore += 1
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
  format(): Record<EffectName, unknown> {
    const entries = effectNames.map((name) => {
      const affected = this.of(name).format(!effectsOnSegments.has(name))
      if (name === 'unqueryable') affected.queryableBefore = this.queryableBefore
      if (name === 'waitingForTier') affected.tiers = [...this.waitingTiers].sort().slice(0, maxTiersListed)
      return [name, affected]
    })
    return Object.fromEntries(entries) as Record<EffectName, unknown>
  }
}

// Maximum number of tiers without servers in an answer.
const maxTiersListed = 20

/** Returns the effects of a change on the segments of a datasource. Yields regularly. */
export function* effectsOf(
  datasource: DatasourceOutcome,
  { cluster }: Outcome,
): Generator<undefined, Effects> {
  const { columns, segments, stretches, targetOf, overshadowedCopies } = datasource
  const effects = new Effects()
  const counter = new SegmentCounter(datasource, cluster.tiers.length)
  const { starts, ends, bytesBefore, overshadowedIndexes } = columns
  let work = 0
  for (const { from, to, rule } of stretches) {
    const target = targetOf(rule)
    effects.noteWaitingTiers(target.waitingTiers)
    for (let blockStart = from; blockStart < to; blockStart += maxBlock) {
      const blockEnd = Math.min(to, blockStart + maxBlock)
      counter.count(target, blockStart, blockEnd)
      for (let position = blockStart; position < blockEnd; position += 1) {
        const sizeBytes = bytesBefore[position + 1]! - bytesBefore[position]!
        noteSegment(effects, target, counter, position - blockStart, {
          start: starts[position]!,
          end: ends[position]!,
          sizeBytes,
        })
      }
      work += counter.work(blockEnd - blockStart)
      if (work < maxBlock) continue
      work = 0
      yield
    }
  }
  for (const [at, index] of overshadowedIndexes.entries()) {
    if (at % maxBlock === 0) yield
    const [start, end, sizeBytes] = [segments.start(index), segments.end(index), segments.sizeBytes(index)]
    effects.of('overshadowed').add(start, end, 1, sizeBytes)
    if (overshadowedCopies[at]! > 0) effects.of('dropped').add(start, end, overshadowedCopies[at]!, sizeBytes)
  }
  return effects
}

/** Adds the effects on one segment. `at` is its position in the counted block. */
function noteSegment(
  effects: Effects,
  { action, waiting, beyondServers }: RuleTarget,
  { before, after, loaded, dropped, unplaced }: SegmentCounter,
  at: number,
  { start, end, sizeBytes }: { readonly start: number; readonly end: number; readonly sizeBytes: number },
): void {
  const note = (name: EffectName, copies: number): void => {
    if (copies > 0) effects.of(name).add(start, end, copies, sizeBytes)
  }
  if (action === 'drop') note('unused', 1)
  if (after[at] === 0) {
    note('unqueryable', 1)
    if (before[at]! > 0) effects.noteQueryableBefore()
  } else {
    note('underReplicated', unplaced[at]! + waiting + beyondServers)
  }
  note('doesNotFit', unplaced[at]!)
  note('waitingForTier', waiting)
  const moved = Math.min(loaded[at]!, dropped[at]!)
  note('moved', moved)
  note('loaded', loaded[at]! - moved)
  note('dropped', dropped[at]! - moved)
}
