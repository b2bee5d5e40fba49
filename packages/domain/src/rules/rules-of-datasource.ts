import { defaultRulesName, type Rule } from './rule.ts'
import { RuleBoundaries } from './rule-boundaries.ts'

/** The rules of every datasource that has a list of its own, and the cluster's defaults under `_default`. */
export type RulesByName = ReadonlyMap<string, readonly Rule[]>

const noRules: readonly Rule[] = []

/** The rules of a datasource, then the cluster's, as of `now` (epoch milliseconds). */
export function ruleBoundariesOf(rules: RulesByName, dataSource: string, now: number): RuleBoundaries {
  return new RuleBoundaries(rules.get(dataSource) ?? noRules, rules.get(defaultRulesName) ?? noRules, now)
}
