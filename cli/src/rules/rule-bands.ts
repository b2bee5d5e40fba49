import type { AnsweredBuckets } from '@svc/domain/preview'
import { formatRule, RegionFinder, type Rule, regionOf } from '@svc/domain/rules'
import { parseInstant, parseInterval } from '@svc/domain/time'
import { describeRule } from './rules-table.ts'

/** The rules that apply over time. */
export interface RuleBands {
  /** The symbol of the rule that applies to each bucket. */
  readonly symbols: readonly string[]
  /** The rules with their symbols, in order of evaluation. */
  readonly legend: readonly { readonly symbol: string; readonly text: string }[]
}

/** The rules to show, in order of evaluation. */
export interface ShownRules {
  /** Number of rules of the datasource. The cluster defaults follow. */
  readonly own: number
  readonly all: readonly Rule[]
  /** When the rules are evaluated. */
  readonly now: number
}

/** Returns which rule applies in the middle of the data of each bucket. Numbers start at 0 in each list; defaults begin with `d`. */
export function ruleBandsOf(
  { start, widthMs, count, covered }: Pick<AnsweredBuckets, 'start' | 'widthMs' | 'count' | 'covered'>,
  { own, all, now }: ShownRules,
): RuleBands {
  const finder = new RegionFinder(all.map((rule) => regionOf(rule, now)))
  const first = parseInstant(start)
  const data = covered === undefined ? { start: -Infinity, end: Infinity } : parseInterval(covered)
  const applied = Array.from({ length: count }, (_, bucket) => {
    const from = Math.max(data.start, first + bucket * widthMs)
    const to = Math.min(data.end, first + (bucket + 1) * widthMs)
    const middle = Math.floor((from + to) / 2)
    return finder.firstHolding(middle, middle + 1)
  })
  const symbolOf = (index: number): string =>
    index < own
      ? index.toString(36).slice(-1)
      : defaultSymbols[Math.min(index - own, defaultSymbols.length - 1)]!
  const inUse = [...new Set(applied)].filter((index) => index >= 0).sort((a, b) => a - b)
  return {
    symbols: applied.map((index) => (index < 0 ? ' ' : symbolOf(index))),
    legend: inUse.map((index) => ({
      symbol: symbolOf(index),
      text: `${index < own ? '' : 'default rule: '}${describeRule(formatRule(all[index]!))}`,
    })),
  }
}

// Lists of defaults are short, so letters do not clash with the digits of a datasource's own rules.
const defaultSymbols = 'DEFGH'
