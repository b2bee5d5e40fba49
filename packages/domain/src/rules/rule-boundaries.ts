import type { Interval } from '../time/index.ts'
import { subtractPeriod } from '../time/index.ts'
import { type CompiledRule, compileRules, matchRule } from './match.ts'
import type { Rule } from './rule.ts'

/** A stretch of time, both ends included. */
interface Swept {
  readonly from: number
  readonly to: number
}

/** The instants that the rule compares the ends of a segment with, as of `now`. */
function instantsOf(rule: Rule, now: number): readonly number[] {
  switch (rule.type) {
    case 'loadForever':
    case 'dropForever':
    case 'broadcastForever':
      return []
    case 'loadByInterval':
    case 'broadcastByInterval':
    case 'dropByInterval':
      return [rule.interval.start, rule.interval.end]
    case 'loadByPeriod':
    case 'broadcastByPeriod':
    case 'dropByPeriod':
      return [subtractPeriod(now, rule.period), now]
    case 'dropBeforeByPeriod':
      return [subtractPeriod(now, rule.period)]
  }
}

/**
 * The rules of a datasource as boundaries in time. Every rule asks only where the ends of a segment lie among a few
 * instants, so segments whose ends lie alike fall under the same rule: the list is walked once for each way to lie,
 * not once for each segment.
 */
export class RuleBoundaries {
  readonly compiled: readonly CompiledRule[]
  private readonly now: number
  private readonly rules: readonly Rule[]
  private readonly instants: Float64Array
  private readonly ruleAt = new Map<number, number>()

  constructor(rules: readonly Rule[], now: number) {
    this.rules = rules
    this.now = now
    this.compiled = compileRules(rules, now)
    this.instants = Float64Array.from(
      new Set([-Infinity, ...rules.flatMap((rule) => instantsOf(rule, now))]),
    ).sort()
  }

  /** The index of the first rule that applies to a segment of the interval, or -1. */
  match(interval: Interval): number {
    const place = this.placeOf(interval.start) * (2 * this.instants.length + 2) + this.placeOf(interval.end)
    let rule = this.ruleAt.get(place)
    if (rule === undefined) {
      rule = matchRule(this.compiled, interval)
      this.ruleAt.set(place, rule)
    }
    return rule
  }

  /**
   * Where the boundaries of the same rules pass while time goes from the moment of these to `now`: only a segment with
   * an end in there may fall under another rule.
   */
  sweptUntil(now: number): readonly Swept[] {
    return this.rules.flatMap((rule) => {
      const after = instantsOf(rule, now)
      return instantsOf(rule, this.now).flatMap((from, index) => {
        const to = after[index]!
        return from === to ? [] : [{ from: Math.min(from, to), to: Math.max(from, to) }]
      })
    })
  }

  /** Odd on an instant, even between two. */
  private placeOf(time: number): number {
    const { instants } = this
    let [low, high] = [0, instants.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (instants[middle]! < time) low = middle + 1
      else high = middle
    }
    return low < instants.length && instants[low] === time ? 2 * low + 1 : 2 * low
  }
}
