import { jsonListOfTexts } from '../json/index.ts'
import { finish } from '../steps/index.ts'
import { formatInterval, formatPeriod, type Interval, type Period } from '../time/index.ts'
import {
  type JsonObject,
  readByType,
  readFields,
  readOneOf,
  refuse,
  refuseCount,
  schemaOf,
  titled,
} from '../validation/index.ts'
import { definitionOf, type Rule, ruleTypes } from './rule-types.ts'
import { readTieredReplicants } from './tiered-replicants.ts'

/** Maximum number of rules in a list. */
export const maxRules = 10_000

const readFieldsByType = titled(
  'Rule',
  readByType(
    Object.fromEntries(
      ruleTypes.map((type) => [
        type,
        readFields<JsonObject>({ ...definitionOf(type).fields, type: readOneOf([type]) }),
      ]),
    ),
    { expected: 'a rule (an object with the field [type])' },
  ),
)

/** Returns the JSON schema of a rule. */
export const ruleSchema = (): JsonObject => schemaOf(readFieldsByType)

/** Returns the JSON schema of a list of rules. */
export const rulesSchema = (): JsonObject => ({ type: 'array', items: ruleSchema(), maxItems: maxRules })

/** Reads one rule, with defaults filled in. */
export function readRule(json: unknown, field: string): Rule {
  const rule = readFieldsByType(json, field) as unknown as Rule
  if (!('tieredReplicants' in rule)) return rule
  const { tieredReplicants, useDefaultTierForNull } = rule
  return {
    ...rule,
    tieredReplicants: readTieredReplicants(
      tieredReplicants,
      `${field}.tieredReplicants`,
      useDefaultTierForNull,
    ),
  }
}

/** The built-in last rule, which ends every list. It loads all segments that no other rule matches. */
export const defaultRule: Rule = readRule({ type: 'loadForever' }, 'rule')

/**
 * Returns the rules of a JSON list, with defaults filled in. Throws invalidInput for the first invalid value; the
 * message contains its path (`rules[2].period`), the value, and what is expected.
 */
export const parseRules = (json: unknown, field = 'rules'): Rule[] => finish(parseRulesInSlices(json, field))

// Number of rules and tiers to read or format between two pauses. This takes a few milliseconds.
const slice = 200

const sizeOf = (rule: Rule): number =>
  1 + ('tieredReplicants' in rule ? Object.keys(rule.tieredReplicants).length : 0)

/** Like parseRules, but yields regularly. */
export function* parseRulesInSlices(json: unknown, field = 'rules'): Generator<undefined, Rule[]> {
  if (!Array.isArray(json)) throw refuse(field, json, 'a list of rules')
  if (json.length > maxRules) throw refuseCount('rules', json.length, field, `at most ${maxRules}`)
  const rules: Rule[] = []
  let read = 0
  for (const [index, entry] of json.entries()) {
    const rule = readRule(entry, `${field}[${index}]`)
    rules.push(rule)
    read += sizeOf(rule)
    if (read >= slice) {
      read = 0
      yield
    }
  }
  return rules
}

/** A rule as JSON. */
export type RuleJson = Readonly<Record<string, unknown>> & { readonly type: string }

/** Returns the rule as JSON, with keys in the same order as in Druid 37. */
export function formatRule(rule: Rule): RuleJson {
  const values: JsonObject = { ...rule }
  const fields = Object.keys(definitionOf(rule.type).fields)
  return {
    ...Object.fromEntries(fields.map((name) => [name, formatField(name, values[name])])),
    type: rule.type,
  }
}

/** Returns the JSON text of a list of rules. Yields regularly. */
export function* rulesTextInSlices(rules: readonly Rule[]): Generator<undefined, string> {
  const texts: string[] = []
  let formatted = 0
  for (const rule of rules) {
    texts.push(JSON.stringify(formatRule(rule)))
    formatted += sizeOf(rule)
    if (formatted >= slice) {
      formatted = 0
      yield
    }
  }
  return jsonListOfTexts(texts)
}

function formatField(name: string, value: unknown): unknown {
  if (name === 'period') return formatPeriod(value as Period)
  if (name === 'interval') return formatInterval(value as Interval)
  return value
}

/** Name of the cluster's default rules among the rules of datasources. */
export const defaultRulesName = '_default'

/**
 * Throws invalidInput for `field` if new default rules are empty: without a rule, segments would be neither loaded nor dropped.
 */
export function assertNotEmptyDefaults(rules: readonly unknown[], field: string): void {
  if (rules.length === 0) throw refuse(field, rules, `a list of at least one rule for [${defaultRulesName}]`)
}

/** Returns all rules for a datasource: its own, the cluster's default rules, and the built-in last rule. */
export function effectiveRules(own: readonly Rule[], clusterDefaults: readonly Rule[]): Rule[] {
  return [...own, ...clusterDefaults, defaultRule]
}
