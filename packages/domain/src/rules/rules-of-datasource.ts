import { type CompiledRule, compileRules } from './match.ts'
import { defaultRulesName, effectiveRules, type Rule } from './rule.ts'
import { RuleBoundaries } from './rule-boundaries.ts'

/** The rules of every datasource that has a list of its own, and the cluster's defaults under `_default`. */
export type RulesByName = ReadonlyMap<string, readonly Rule[]>

/** All rules that a datasource's segments are matched against. */
function rulesFor(rules: RulesByName, dataSource: string): Rule[] {
  return effectiveRules(rules.get(dataSource) ?? [], rules.get(defaultRulesName) ?? [])
}

/** The rules of a datasource, then the cluster's, ready to be matched at `now`. */
export function rulesOf(rules: RulesByName, dataSource: string, now: number): CompiledRule[] {
  return compileRules(rulesFor(rules, dataSource), now)
}

/** The rules of a datasource, then the cluster's, as boundaries in time at `now`. */
export function ruleBoundariesOf(rules: RulesByName, dataSource: string, now: number): RuleBoundaries {
  return new RuleBoundaries(rulesFor(rules, dataSource), now)
}
