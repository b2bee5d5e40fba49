import { type Rule, type RuleJson, regionOf } from '@svc/domain/rules'
import { formatTime } from '../ui/index.ts'

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
    return `${formatTime(endAfter)} to ${formatTime(startBefore)}`
  if (endAfter > -Infinity) return `since ${dayOrTime(endAfter)}${future}`
  if (startFrom > -Infinity) return `starts on or after ${dayOrTime(startFrom)}${future}`
  if (endUpTo < Infinity) return `ends before ${dayOrTime(endUpTo)}`
  return 'everything else'
}
