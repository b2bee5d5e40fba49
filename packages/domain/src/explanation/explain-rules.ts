import {
  defaultRule,
  defaultRulesName,
  type Rule,
  type RulesByName,
  regionOf,
  ruleApplies,
} from '../rules/index.ts'
import { addPeriod, dayMs, formatInstant, formatPeriod, type Interval } from '../time/index.ts'

/** A rule of a datasource, and where it is. */
export interface PlacedRule {
  /** Position in the datasource's own rules, continued through the default rules and the built-in last rule. */
  readonly number: number
  /** Position in its own list. */
  readonly place: number
  /** The list: the datasource's own, the cluster's default rules, or the built-in last rule. */
  readonly source: 'dataSource' | 'defaults' | 'lastRule'
  readonly rule: Rule
}

/** A rule that does not apply to a segment. */
export interface PassedRule extends PlacedRule {
  readonly text: string
}

/** The rules of a datasource, as they apply to a segment. */
export interface RuleFindings {
  /** The first rule that applies. */
  readonly matched: PlacedRule
  /** The last of the rules before it, and why they do not apply. */
  readonly passed: readonly PassedRule[]
  /** Number of earlier rules that are not listed. */
  readonly omitted: number
  /** When another rule starts to apply, if nobody changes the rules. */
  readonly next: { readonly at: number; readonly rule: PlacedRule } | undefined
}

// A list may have 10,000 rules.
const maxPassed = 20

/** Returns which rule applies to an interval of a datasource at `now`, why earlier ones do not, and when that changes. */
export function explainRules(
  rules: RulesByName,
  dataSource: string,
  interval: Interval,
  now: number,
): RuleFindings {
  const all = placedRules(rules, dataSource)
  const index = all.findIndex(({ rule }) => ruleApplies(rule, interval, now))
  const matched = all[index]!
  const first = Math.max(0, index - maxPassed)
  return {
    matched,
    passed: all.slice(first, index).map((placed) => ({
      ...placed,
      text: whyNot(placed.rule, interval, now),
    })),
    omitted: first,
    next: nextChange(all, index, interval, now),
  }
}

/** Returns a rule by its number among all rules of a datasource. */
export function placedRuleAt(rules: RulesByName, dataSource: string, number: number): PlacedRule {
  const own = rules.get(dataSource) ?? []
  const defaults = rules.get(defaultRulesName) ?? []
  const place = number - own.length
  if (place < 0) return { number, place: number, source: 'dataSource', rule: own[number]! }
  return place < defaults.length
    ? { number, place, source: 'defaults', rule: defaults[place]! }
    : { number, place: 0, source: 'lastRule', rule: defaultRule }
}

function placedRules(rules: RulesByName, dataSource: string): PlacedRule[] {
  const listed = (list: readonly Rule[], source: PlacedRule['source']) =>
    list.map((rule, place) => ({ place, source, rule }))
  return [
    ...listed(rules.get(dataSource) ?? [], 'dataSource'),
    ...listed(rules.get(defaultRulesName) ?? [], 'defaults'),
    ...listed([defaultRule], 'lastRule'),
  ].map((placed, number) => ({ number, ...placed }))
}

function whyNot(rule: Rule, { start, end }: Interval, now: number): string {
  const region = regionOf(rule, now)
  if (end <= region.endAfter)
    return `The segment ends at ${formatInstant(end)}, but the rule applies only to data after ${formatInstant(region.endAfter)}`
  if (start >= region.startBefore)
    return `The segment starts at ${formatInstant(start)}, but the rule applies only to data before ${formatInstant(region.startBefore)}`
  if (start < region.startFrom)
    return `The segment starts at ${formatInstant(start)}, but the rule applies only to segments that start at ${formatInstant(region.startFrom)} or later`
  return `The segment ends at ${formatInstant(end)}, but the rule applies only to segments that end at ${formatInstant(region.endUpTo)} or earlier`
}

/** Returns when the matched rule stops applying or an earlier one starts applying. */
function nextChange(
  all: readonly PlacedRule[],
  matched: number,
  interval: Interval,
  now: number,
): RuleFindings['next'] {
  let at = Number.POSITIVE_INFINITY
  for (const { rule } of all.slice(0, matched + 1)) at = Math.min(at, nextFlip(rule, interval, now))
  if (at === Number.POSITIVE_INFINITY) return undefined
  const rule = all.find((placed) => ruleApplies(placed.rule, interval, at))!
  return rule.number === matched ? undefined : { at, rule }
}

/** Returns when a rule starts or stops applying to an interval; Infinity if it never does. */
function nextFlip(rule: Rule, interval: Interval, now: number): number {
  if (!('period' in rule)) return Number.POSITIVE_INFINITY
  const applies = ruleApplies(rule, interval, now)
  const bounds = [interval.start, interval.end].filter(Number.isFinite)
  const moments = bounds.flatMap((bound) => [bound, addPeriod(bound, rule.period)])
  // Months have different lengths: subtracting a period may arrive at a bound up to three days after adding it.
  const candidates = moments.flatMap((moment) =>
    [0, 1, dayMs, 2 * dayMs, 3 * dayMs].map((later) => moment + later),
  )
  return candidates
    .filter((moment) => moment > now && ruleApplies(rule, interval, moment) !== applies)
    .reduce((first, moment) => Math.min(first, moment), Number.POSITIVE_INFINITY)
}

/** Describes a rule in a few words, for example `rule [1] (loadByPeriod P1M)`. */
export function describeRule({ place, source, rule }: PlacedRule): string {
  const scope =
    'period' in rule
      ? ` ${formatPeriod(rule.period)}`
      : 'interval' in rule
        ? ` ${formatInstant(rule.interval.start)}/${formatInstant(rule.interval.end)}`
        : ''
  if (source === 'lastRule') return `the built-in last rule (${rule.type})`
  return `${source === 'defaults' ? 'default ' : ''}rule [${place}] (${rule.type}${scope})`
}
