import { isInRegion, type Rule, type RuleRegion, regionOf } from '../rules/index.ts'
import { addPeriod, formatPeriod, type Period, readPeriod } from '../time/index.ts'
import { firstRule } from './stretches.ts'

/** A rule that no segment can ever fall under, now or later. */
export interface UnreachedRule {
  readonly index: number
  /** The rules before it that apply to all that it applies to; empty where it applies to nothing by itself. */
  readonly hiddenBy: readonly number[]
}

// Comparisons of bounds that one list is worth: some ten milliseconds.
const mostComparisons = 10_000_000

const year = readPeriod('P1Y') as Period
const noTime = readPeriod('PT0S') as Period

// Four years in steps that come by every day of a month and every part of a day.
const hoursAhead = Array.from({ length: 110 }, (_, step) => (step + 1) * (13 * 24 + 7))

/**
 * The rules of a list that are never reached, at `now` or any later time. Where bounds of rules lie is all that
 * matters, so segments are tried that begin and end at, before and after each of them, at moments between which the
 * bounds do not pass each other. In a list too long for that each rule is compared with single ones before it, and in
 * a longer one still only what follows a rule for everything is found.
 */
export function findUnreachedRules(rules: readonly Rule[], now: number): UnreachedRule[] {
  const last = rules.findIndex(({ type }) => type.endsWith('Forever'))
  const reachable = last < 0 ? rules : rules.slice(0, last + 1)
  const behind = rules
    .slice(reachable.length)
    .map((_, offset) => ({ index: reachable.length + offset, hiddenBy: [last] }))
  const moments = momentsOf(reachable, now)
  const places = instantsOf(reachable.map((rule) => regionOf(rule, now))).length
  const comparisons = (moments.length * reachable.length * reachable.length) / 2
  const hidden =
    (moments.length * places * places * reachable.length) / 2 <= mostComparisons
      ? findHidden(reachable, moments)
      : comparisons <= mostComparisons
        ? findHiddenByOne(reachable, moments)
        : []
  return [...hidden, ...behind]
}

/** What no segment falls under, with the rules that it falls under instead: one of them where one does for all. */
function findHidden(rules: readonly Rule[], moments: readonly number[]): UnreachedRule[] {
  const reached = new Uint8Array(rules.length + 1)
  for (const moment of moments) {
    const regions = rules.map((rule) => regionOf(rule, moment))
    forEachPlace(regions, (start, end) => {
      reached[firstRule(regions, start, end)] = 1
    })
  }
  const unreached = [...rules.keys()].filter((index) => reached[index] === 0)
  if (unreached.length === 0) return []
  const instead = unreached.map(() => new Set<number>())
  const single = unreached.map((index) => [...rules.keys()].slice(0, index))
  for (const moment of moments) {
    const regions = rules.map((rule) => regionOf(rule, moment))
    forEachPlace(regions, (start, end) => {
      for (const [at, index] of unreached.entries()) {
        if (!isInRegion(regions[index]!, start, end)) continue
        instead[at]!.add(firstRule(regions, start, end))
        single[at] = single[at]!.filter((other) => isInRegion(regions[other]!, start, end))
      }
    })
  }
  return unreached.map((index, at) => {
    const all = [...instead[at]!].sort((a, b) => a - b)
    const [one] = all.length === 0 ? [] : single[at]!
    return { index, hiddenBy: one === undefined ? all : [one] }
  })
}

function findHiddenByOne(rules: readonly Rule[], moments: readonly number[]): UnreachedRule[] {
  const regionsAt = moments.map((moment) => rules.map((rule) => regionOf(rule, moment)))
  return [...rules.keys()].flatMap((index) => {
    const one = [...rules.keys()]
      .slice(0, index)
      .find((other) => regionsAt.every((regions) => covers(regions[other]!, regions[index]!)))
    return one === undefined ? [] : [{ index, hiddenBy: [one] }]
  })
}

const covers = (outer: RuleRegion, inner: RuleRegion): boolean =>
  outer.startFrom <= inner.startFrom &&
  outer.startBefore >= inner.startBefore &&
  outer.endAfter <= inner.endAfter &&
  outer.endUpTo >= inner.endUpTo

/** Instants at, before and after each bound of the regions, in their order, with the ends of eternity. */
function instantsOf(regions: readonly RuleRegion[]): number[] {
  const bounds = regions.flatMap(({ startFrom, startBefore, endAfter, endUpTo }) => [
    startFrom,
    startBefore,
    endAfter,
    endUpTo,
  ])
  const finite = [...new Set(bounds)].filter((bound) => Math.abs(bound) < Number.MAX_VALUE)
  const first = finite.reduce((least, bound) => Math.min(least, bound), 0)
  const instants = new Set([-Infinity, Infinity, first - 2, first - 1])
  for (const bound of finite) for (const offset of [0, 1, 2]) instants.add(bound + offset)
  return [...instants].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

/** Calls `visit` with segments of every kind that the bounds of the regions tell apart. */
function forEachPlace(regions: readonly RuleRegion[], visit: (start: number, end: number) => void): void {
  const instants = instantsOf(regions)
  for (let from = 0; from < instants.length - 1; from += 1) {
    for (let to = from + 1; to < instants.length; to += 1) visit(instants[from]!, instants[to]!)
  }
}

/**
 * Now, and later moments such that between two of them the bounds of rules keep their order: a moving bound passes a
 * fixed one a period after it. Months differ in length, so periods of about the same length are compared at the ends
 * of months as well.
 */
function momentsOf(rules: readonly Rule[], now: number): number[] {
  const fixed = new Set<number>()
  const periods = new Map<string, Period>()
  for (const rule of rules) {
    if ('interval' in rule) for (const end of [rule.interval.start, rule.interval.end]) fixed.add(end)
    if ('period' in rule) periods.set(formatPeriod(rule.period), rule.period)
    if ('includeFuture' in rule && !rule.includeFuture) periods.set(formatPeriod(noTime), noTime)
  }
  if (periods.size === 0) return [now]
  const passed = [...fixed]
    .flatMap((bound) => [...periods.values()].map((period) => addPeriod(bound, period)))
    .filter((moment) => moment > now && Number.isFinite(moment))
    .sort((a, b) => a - b)
  const moments = [now]
  let previous = now
  for (const moment of passed) {
    if (moment - previous > 1) moments.push(Math.floor((previous + moment) / 2))
    previous = moment
  }
  moments.push(addPeriod(previous, year))
  const withMonths = [...periods.values()].filter(({ years, months }) => years + months > 0)
  if (withMonths.length > 0 && periods.size > 1) {
    for (const hours of hoursAhead) moments.push(now + hours * 3_600_000)
  }
  return moments
}
