import {
  appliesToEverything,
  describeWantedCopies,
  isInRegion,
  loadedPeriodOf,
  type Rule,
  regionOf,
} from '../rules/index.ts'
import { addPeriod, type Period, subtractPeriod } from '../time/index.ts'

/** Load rules whose periods a reader may add up, although each of them ends now. */
export interface AddedPeriods {
  /** Numbers of the rules, from the shortest period to the longest. */
  readonly indexes: readonly number[]
  /** The longest period: older data is dropped. */
  readonly keeps: Period
  /** The sum of the periods. */
  readonly sum: Period
}

/**
 * If a period is at most this fraction longer than the one before, such as 109 days after 100, both are meant to be counted from now.
 * A larger step, such as three months after one, may be a mistake: the periods seem meant to add up.
 */
const maxExtension = 1 / 4

/**
 * Returns load rules with increasing periods if the rules drop what is older than the longest one, and if no period only
 * extends the one before. `[P1M]` and then `[P3M]` keep three months in total, not four. `following` are the rules after the list.
 */
export function findAddedPeriods(
  rules: readonly Rule[],
  following: readonly Rule[],
  now: number,
): AddedPeriods | undefined {
  const found: { readonly index: number; readonly period: Period }[] = []
  let longestMs = 0
  for (const [index, rule] of rules.entries()) {
    if (appliesToEverything(rule)) break
    const period = loadedPeriodOf(rule)
    if (period === undefined) continue
    const lengthMs = addPeriod(now, period) - now
    if (lengthMs <= longestMs) continue
    if (lengthMs <= longestMs * (1 + maxExtension)) return undefined
    longestMs = lengthMs
    found.push({ index, period })
  }
  const longest = found.at(-1)
  if (longest === undefined || found.length < 2) return undefined
  const windowStart = subtractPeriod(now, longest.period)
  const older = [...rules, ...following].find((rule) =>
    isInRegion(regionOf(rule, now), windowStart - 2, windowStart - 1),
  )
  if (older === undefined || describeWantedCopies(older).action !== 'drop') return undefined
  return {
    indexes: found.map(({ index }) => index),
    keeps: longest.period,
    sum: found.map(({ period }) => period).reduce(addUnits),
  }
}

function addUnits(a: Period, b: Period): Period {
  const units = Object.keys(a) as (keyof Period)[]
  return Object.fromEntries(units.map((unit) => [unit, a[unit] + b[unit]])) as unknown as Period
}
