import { RuleBoundaries } from '../rules/index.ts'
import type { UnplacedDatasource } from './datasource-outcome.ts'
import { heldRanges } from './held-copies.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { SegmentColumns } from './segments.ts'
import { stretchesOf } from './stretches.ts'

/** The state of a segment that does not depend on the space on servers. */
export interface SegmentState {
  /** Number of the rule that applies; of the drop rule, once one has marked the segment unused. */
  readonly rule: number
  /** Replicas on brokers. A load rule keeps those that a broadcast rule loaded. */
  readonly brokers: number
}

/** Consecutive segments in the same state. */
export interface SegmentPart extends SegmentState {
  readonly from: number
  readonly to: number
}

/** Consecutive segments with the same state before a point in time, and the same state from then on. */
export interface SegmentRange {
  readonly from: number
  readonly to: number
  readonly before: SegmentState
  readonly after: SegmentState
}

/** What one point in time changes. */
export interface StateChanges {
  readonly ranges: readonly SegmentRange[]
  /** The states from then on. */
  readonly parts: readonly SegmentPart[]
}

/** Follows which rule applies to the segments of a datasource as time passes. */
export class RuleHistory {
  private readonly datasource: UnplacedDatasource
  private readonly brokersHolder: number
  private parts: readonly SegmentPart[]

  constructor(datasource: UnplacedDatasource, brokersHolder: number) {
    this.datasource = datasource
    this.brokersHolder = brokersHolder
    const { stretches, held, columns } = datasource
    const parts = new Parts(columns)
    for (const { from, to, rule, copies } of heldRanges(stretches, held))
      parts.add(from, to, { rule, brokers: this.brokersOf(rule, copies.brokers) })
    this.parts = parts.list
  }

  /** The current states, to which `returnTo` can return. */
  get states(): readonly SegmentPart[] {
    return this.parts
  }

  /** Returns to earlier states. */
  returnTo(states: readonly SegmentPart[]): void {
    this.parts = states
  }

  /** Goes on to a point in time, and returns what changes. Yields regularly. */
  *advance(now: number): Generator<undefined, StateChanges> {
    const { columns, own, defaults, targetOf } = this.datasource
    const stretches = yield* stretchesOf(columns, new RuleBoundaries(own, defaults, now))
    const parts = new Parts(columns)
    const ranges: SegmentRange[] = []
    let stretchAt = 0
    let partAt = 0
    for (let from = 0; from < columns.count; ) {
      const stretch = stretches[stretchAt]!
      const before = this.parts[partAt]!
      const to = Math.min(stretch.to, before.to)
      const rule = targetOf(before.rule).action === 'drop' ? before.rule : stretch.rule
      const after = { rule, brokers: this.brokersOf(rule, before.brokers) }
      ranges.push({ from, to, before, after })
      parts.add(from, to, after)
      if (to === stretch.to) stretchAt += 1
      if (to === before.to) partAt += 1
      from = to
    }
    this.parts = parts.list
    return { ranges, parts: parts.list }
  }

  private brokersOf(rule: number, before: number): number {
    const target: RuleTarget = this.datasource.targetOf(rule)
    return target.action === 'load' ? before : (target.byHolder.get(this.brokersHolder)?.copies ?? 0)
  }
}

/** Merges equal neighbors in a chain, so that the number of parts does not grow with the number of steps. */
class Parts {
  readonly list: (SegmentState & { readonly from: number; to: number })[] = []
  private readonly chainEnds: readonly number[]
  private chainAt = 0
  private chainStart = 0

  constructor({ chainEnds }: SegmentColumns) {
    this.chainEnds = chainEnds
  }

  add(from: number, to: number, { rule, brokers }: SegmentState): void {
    while (this.chainEnds[this.chainAt]! <= from) {
      this.chainStart = this.chainEnds[this.chainAt]!
      this.chainAt += 1
    }
    const last = this.list.at(-1)
    const isSame = last !== undefined && last.rule === rule && last.brokers === brokers
    if (isSame && from > this.chainStart) last.to = to
    else this.list.push({ from, to, rule, brokers })
  }
}
