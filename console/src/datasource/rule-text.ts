import type { ApplyingRule, RuleLane } from '@svc/domain/preview'
import { type Rule, type RuleJson, regionOf } from '@svc/domain/rules'
import { countOf, formatList } from '@svc/domain/text'
import { formatRange, formatTime, visible } from '../formats/index.ts'

/** What a rule does, in the order of the choices of a form. */
export const actions = ['load', 'drop', 'broadcast'] as const
export type Action = (typeof actions)[number]

const actionNames: Readonly<Record<Action, string>> = { load: 'Load', drop: 'Drop', broadcast: 'Broadcast' }

/** What each scope means, by the end of the type of a rule. */
export const scopes = {
  Forever: 'forever',
  ByPeriod: 'by period',
  ByInterval: 'by interval',
  BeforeByPeriod: 'before a period',
} as const
export type Scope = keyof typeof scopes

/** Returns the scopes that rules of an action can have. */
export const scopesOf = (action: Action): readonly Scope[] =>
  action === 'drop'
    ? ['Forever', 'ByPeriod', 'BeforeByPeriod', 'ByInterval']
    : ['Forever', 'ByPeriod', 'ByInterval']

/** Returns the two parts of the type of a rule. */
export function partsOf(type: string): { readonly action: Action; readonly scope: Scope } {
  const action = actions.find((one) => type.startsWith(one)) ?? 'load'
  const rest = type.slice(action.length)
  return { action, scope: rest in scopes ? (rest as Scope) : 'Forever' }
}

/** The number of replicas by tier in a rule as JSON. */
export const replicantsOf = (rule: RuleJson): Readonly<Record<string, number>> =>
  typeof rule.tieredReplicants === 'object' && rule.tieredReplicants !== null
    ? (rule.tieredReplicants as Record<string, number>)
    : rule.type.startsWith('load') && rule.useDefaultTierForNull !== false
      ? { _default_tier: 2 }
      : {}

/** Returns the parts of a sentence about a rule: what it does, for which data, and where. */
export function describeRule(rule: RuleJson): {
  readonly what: string
  readonly scope: string
  readonly where: string
} {
  const { action, scope } = partsOf(rule.type)
  const what = `${actionNames[action]} ${scopes[scope]}`
  const text = scope === 'Forever' ? '' : String(rule.period ?? shortInterval(rule.interval) ?? '')
  const replicants = Object.entries(replicantsOf(rule)).map(([tier, count]) => `${tier} ×${count}`)
  const where = action === 'load' ? replicants.join(', ') || 'no tier' : ''
  return { what, scope: text, where }
}

/** Returns a short name of a rule: `0 hot ×2`, or `default drop`. */
export function ruleLabel({ index, isDefault, rule }: ApplyingRule): string {
  const { action } = partsOf(rule.type)
  return `${isDefault ? 'default' : index} ${action === 'load' ? visible(describeRule(rule).where) : action}`
}

/** Says which rules apply to the segments in a bucket; undefined if it has none. */
export function applyingRulesText({ rules, buckets }: RuleLane, bucket: number): string | undefined {
  const { first, count } = buckets[bucket] ?? { first: [], count: 0 }
  if (count === 0) return undefined
  const labels = first.map((number) => ruleLabel(rules.get(number)!))
  const more = count - first.length
  return count === 1
    ? `rule ${labels[0]} applies`
    : `rules ${formatList([...labels, ...(more > 0 ? [`${countOf(more, 'other rule')}`] : [])])} apply`
}

const shortInterval = (interval: unknown): string | undefined =>
  typeof interval === 'string' ? interval.replaceAll('T00:00:00.000Z', '') : undefined

/** Returns a sentence with the dates of a rule at a time: `since 2026-08-24`. */
export function datesOf(rule: Rule, now: number): string {
  // The time of day is that of the clock, so it says little about a period of days.
  const dayOrTime = (instantMs: number): string =>
    'period' in rule && Math.abs(now - instantMs) > 2 * 86_400_000
      ? formatTime(Math.floor(instantMs / 86_400_000) * 86_400_000)
      : formatTime(instantMs)
  const { startFrom, startBefore, endAfter, endUpTo } = regionOf(rule, now)
  const future = 'includeFuture' in rule && !rule.includeFuture ? ' until now' : ''
  if (startFrom > -Infinity && endUpTo < Infinity && future === '')
    return `entirely between ${formatTime(startFrom)} and ${formatTime(endUpTo)}`
  if (endAfter > -Infinity && startBefore < Infinity && future === '')
    return formatRange({ start: endAfter, end: startBefore })
  if (endAfter > -Infinity) return `since ${dayOrTime(endAfter)}${future}`
  if (startFrom > -Infinity) return `starts on or after ${dayOrTime(startFrom)}${future}`
  if (endUpTo < Infinity) return `ends before ${dayOrTime(endUpTo)}`
  return 'everything else'
}
