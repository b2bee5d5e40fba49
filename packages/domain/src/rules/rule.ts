import { finish } from '../steps/index.ts'
import {
  formatInterval,
  formatPeriod,
  type Interval,
  intervalSchema,
  type Period,
  parseInterval,
  parsePeriod,
  periodSchema,
} from '../time/index.ts'
import {
  assertKnownFields,
  hasControlCharacter,
  isJsonObject,
  type JsonObject,
  refuse,
} from '../validation/index.ts'

/** Tier of servers without a configured tier, and of load rules without tiers. */
export const defaultTier = '_default_tier'

/** Number of replicas by tier. */
export type TieredReplicants = Readonly<Record<string, number>>

interface LoadFields {
  readonly tieredReplicants: TieredReplicants
  readonly useDefaultTierForNull: boolean
}
interface PeriodFields {
  readonly period: Period
  readonly includeFuture: boolean
}
interface IntervalFields {
  readonly interval: Interval
}

/** A retention rule with its defaults filled in. Fields have the same names as in JSON. */
export type Rule =
  | ({ readonly type: 'loadForever' } & LoadFields)
  | ({ readonly type: 'loadByPeriod' } & PeriodFields & LoadFields)
  | ({ readonly type: 'loadByInterval' } & IntervalFields & LoadFields)
  | { readonly type: 'dropForever' }
  | ({ readonly type: 'dropByPeriod' } & PeriodFields)
  | ({ readonly type: 'dropBeforeByPeriod' } & Pick<PeriodFields, 'period'>)
  | ({ readonly type: 'dropByInterval' } & IntervalFields)
  | { readonly type: 'broadcastForever' }
  | ({ readonly type: 'broadcastByPeriod' } & PeriodFields)
  | ({ readonly type: 'broadcastByInterval' } & IntervalFields)

/** The type of a rule. */
export type RuleType = Rule['type']

type FieldName = keyof PeriodFields | keyof IntervalFields | keyof LoadFields
// The fields of each type in output order. `type` itself comes last.
const fieldsOfType: Readonly<Record<RuleType, readonly FieldName[]>> = {
  loadForever: ['tieredReplicants', 'useDefaultTierForNull'],
  loadByPeriod: ['period', 'includeFuture', 'tieredReplicants', 'useDefaultTierForNull'],
  loadByInterval: ['interval', 'tieredReplicants', 'useDefaultTierForNull'],
  dropForever: [],
  dropByPeriod: ['period', 'includeFuture'],
  dropBeforeByPeriod: ['period'],
  dropByInterval: ['interval'],
  broadcastForever: [],
  broadcastByPeriod: ['period', 'includeFuture'],
  broadcastByInterval: ['interval'],
}
const typesByName: ReadonlyMap<unknown, RuleType> = new Map(
  (Object.keys(fieldsOfType) as RuleType[]).map((type) => [type, type]),
)

/** Names of the ten rule types. */
export const ruleTypes: readonly RuleType[] = [...typesByName.values()]

/** Maximum number of rules in a list. */
export const maxRules = 10_000
// More tiers than fit into a 1 MiB request body, so every list that was ever stored can be read.
const maxTiers = 150_000
const maxReplicants = 2_147_483_647
const maxTierNameLength = 255

/** Two replicas on the default tier, used if tieredReplicants is absent or null. */
const defaultReplicants: TieredReplicants = { [defaultTier]: 2 }

/** The rule that ends every list. It loads all segments that no other rule matches. */
export const defaultRule: Rule = {
  type: 'loadForever',
  tieredReplicants: defaultReplicants,
  useDefaultTierForNull: true,
}

function readText(value: unknown, field: string, expected: string): string {
  if (typeof value !== 'string') throw refuse(field, value, expected)
  return value
}

function readFlag(value: unknown, field: string): boolean {
  if (value === undefined || value === null) return true
  if (typeof value !== 'boolean') throw refuse(field, value, 'true or false')
  return value
}

function readReplicants(value: unknown, field: string, useDefaultTier: boolean): TieredReplicants {
  if (value === undefined || value === null) return useDefaultTier ? defaultReplicants : {}
  if (!isJsonObject(value))
    throw refuse(field, value, 'an object that maps tier names to numbers of replicas')
  const entries = Object.entries(value)
  if (entries.length > maxTiers)
    throw refuse(`number of tiers in ${field}`, entries.length, `at most ${maxTiers}`)
  for (const [tier, count] of entries) {
    // Assigning this name would replace the prototype of an object instead of adding a tier.
    if (
      tier === '__proto__' ||
      tier.trim() === '' ||
      tier.length > maxTierNameLength ||
      hasControlCharacter(tier)
    ) {
      throw refuse(
        `tier name in ${field}`,
        tier,
        `a name of 1 to ${maxTierNameLength} characters without control characters`,
      )
    }
    if (typeof count !== 'number' || !Number.isInteger(count) || count < 0 || count > maxReplicants) {
      throw refuse(`${field}.${tier}`, count, `an integer from 0 to ${maxReplicants}`)
    }
  }
  return { ...value } as TieredReplicants
}

const readers: Readonly<Record<FieldName, (rule: JsonObject, path: string) => unknown>> = {
  period: (rule, path) =>
    parsePeriod(
      readText(rule.period, `${path}.period`, 'an ISO 8601 period such as [P1M]'),
      `${path}.period`,
    ),
  interval: (rule, path) =>
    parseInterval(
      readText(rule.interval, `${path}.interval`, 'an ISO 8601 interval such as [2026-01-01/2026-02-01]'),
      `${path}.interval`,
    ),
  includeFuture: (rule, path) => readFlag(rule.includeFuture, `${path}.includeFuture`),
  useDefaultTierForNull: (rule, path) =>
    readFlag(rule.useDefaultTierForNull, `${path}.useDefaultTierForNull`),
  tieredReplicants: (rule, path) =>
    readReplicants(
      rule.tieredReplicants,
      `${path}.tieredReplicants`,
      readFlag(rule.useDefaultTierForNull, `${path}.useDefaultTierForNull`),
    ),
}

const flagSchema = { type: ['boolean', 'null'] }
const fieldSchemas: Readonly<Record<FieldName, JsonObject>> = {
  period: periodSchema,
  interval: intervalSchema,
  includeFuture: flagSchema,
  useDefaultTierForNull: flagSchema,
  tieredReplicants: {
    type: ['object', 'null'],
    description: 'Number of replicas by tier',
    additionalProperties: { type: 'integer', minimum: 0, maximum: maxReplicants },
  },
}
const requiredFields: readonly FieldName[] = ['period', 'interval']

/** Returns the JSON schema of a rule. */
export const ruleSchema = (): JsonObject => ({
  title: 'Rule',
  anyOf: ruleTypes.map((type) => ({
    type: 'object',
    properties: {
      ...Object.fromEntries(fieldsOfType[type].map((name) => [name, fieldSchemas[name]])),
      type: { type: 'string', enum: [type] },
    },
    required: [...fieldsOfType[type].filter((name) => requiredFields.includes(name)), 'type'],
    additionalProperties: false,
  })),
})

/** Returns the JSON schema of a list of rules. */
export const rulesSchema = (): JsonObject => ({ type: 'array', items: ruleSchema(), maxItems: maxRules })

function readRule(json: unknown, path: string): Rule {
  if (!isJsonObject(json)) throw refuse(path, json, 'a rule (an object with a type)')
  const type = typesByName.get(Object.hasOwn(json, 'type') ? json.type : undefined)
  if (type === undefined) throw refuse(`${path}.type`, json.type, `one of [${ruleTypes.join(', ')}]`)
  const names = fieldsOfType[type]
  assertKnownFields(json, [...names, 'type'], path)
  return Object.fromEntries([
    ...names.map((name) => [name, readers[name](json, path)]),
    ['type', type],
  ]) as unknown as Rule
}

/**
 * Returns the rules of a JSON list, with defaults filled in. Throws invalidInput for the first invalid value; the
 * message contains its path (`rules[2].period`), the value, and what is expected.
 */
export const parseRules = (json: unknown, field = 'rules'): Rule[] => finish(parseRulesInSlices(json, field))

// Number of rules and tiers to read between two pauses. This takes a few milliseconds.
const slice = 2000

/** Like parseRules, but yields regularly. */
export function* parseRulesInSlices(json: unknown, field = 'rules'): Generator<undefined, Rule[]> {
  if (!Array.isArray(json)) throw refuse(field, json, 'a list of rules')
  if (json.length > maxRules) throw refuse(`number of ${field}`, json.length, `at most ${maxRules}`)
  const rules: Rule[] = []
  let read = 0
  for (const [index, entry] of json.entries()) {
    const rule = readRule(entry, `${field}[${index}]`)
    rules.push(rule)
    read += 1 + ('tieredReplicants' in rule ? Object.keys(rule.tieredReplicants).length : 0)
    if (read >= slice) {
      read = 0
      yield
    }
  }
  return rules
}

/** Returns the rule as JSON, with keys in the same order as in Druid 37. */
export function formatRule(rule: Rule): Record<string, unknown> {
  const values: JsonObject = { ...rule }
  return Object.fromEntries(
    [...fieldsOfType[rule.type], 'type'].map((name) => [name, formatField(name, values[name])]),
  )
}

function formatField(name: string, value: unknown): unknown {
  if (name === 'period') return formatPeriod(value as Period)
  if (name === 'interval') return formatInterval(value as Interval)
  return value
}

/** Name of the cluster's default rules among the rules of datasources. */
export const defaultRulesName = '_default'

/** Returns all rules for a datasource: its own, the cluster's default rules, and the rule that ends every list. */
export function effectiveRules(own: readonly Rule[], clusterDefaults: readonly Rule[]): Rule[] {
  return [...own, ...clusterDefaults, defaultRule]
}
