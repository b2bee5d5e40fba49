import { defaultRule, defaultRulesName } from './rule.ts'
import { RuleBoundaries } from './rule-boundaries.ts'
import { isFixedList } from './rule-list.ts'
import type { Rule } from './rule-types.ts'

/** The rules of every datasource with rules of its own, and the cluster's default rules under `_default`. */
export type RulesByName = ReadonlyMap<string, readonly Rule[]>

const noRules: readonly Rule[] = []

/** Returns the rules of a datasource, followed by the cluster's default rules, at `now` (epoch milliseconds). */
export function ruleBoundariesOf(rules: RulesByName, dataSource: string, now: number): RuleBoundaries {
  return new RuleBoundaries(rules.get(dataSource) ?? noRules, rules.get(defaultRulesName) ?? noRules, now)
}

/** Returns whether all rules apply to the same segments at any time: none of them has a period. */
export const areFixed = (rules: RulesByName): boolean => [...rules.values()].every(isFixedList)

/** Returns a rule by its number among the rules of a datasource and the cluster's default rules. */
export function ruleInList(rules: RulesByName, dataSource: string, number: number): Rule {
  const own = rules.get(dataSource) ?? noRules
  return own[number] ?? rules.get(defaultRulesName)?.[number - own.length] ?? defaultRule
}
