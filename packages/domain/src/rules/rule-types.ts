import { type Interval, type Period, readInterval, readPeriod, subtractPeriod } from '../time/index.ts'
import { described, optional, type Reader, readFlag } from '../validation/index.ts'
import { everything, type RuleRegion } from './region.ts'
import { type TieredReplicants, tieredReplicantsSchema } from './tiered-replicants.ts'

/** What a rule requires for the segments that it applies to. */
export type WantedCopies =
  | { readonly action: 'load'; readonly tieredReplicants: ReadonlyMap<string, number> }
  | { readonly action: 'broadcast' }
  | { readonly action: 'drop' }

/** Which segments a rule with these fields applies to. */
interface Scope<Fields> {
  /** A reader for each field except `type`, in the order of the JSON. */
  readonly fields: { readonly [Name in keyof Fields]: Reader<Fields[Name]> }
  /**
   * Returns the region of a rule at `now`, with the same bounds as Druid 37. A load rule that includes the future checks
   * the end of a segment and a drop rule checks its start, so both keep a segment that spans the start of the window.
   */
  readonly region: (rule: Fields, now: number) => RuleRegion
}

/** A rule type. */
interface RuleDefinition<Fields> extends Scope<Fields> {
  /** Returns what a rule requires, without tiers that get 0 replicas. The same rule always returns the same object. */
  readonly wanted: (rule: Fields) => WantedCopies
}

interface LoadFields {
  readonly tieredReplicants: TieredReplicants
  readonly useDefaultTierForNull: boolean
}
interface PeriodFields {
  readonly period: Period
}
interface WindowFields extends PeriodFields {
  readonly includeFuture: boolean
}
interface IntervalFields {
  readonly interval: Interval
}

const readFlagOrTrue = optional(readFlag, true)

const always: Scope<object> = { fields: {}, region: () => everything }
const overlappingInterval: Scope<IntervalFields> = {
  fields: { interval: readInterval },
  region: ({ interval }) => ({ ...everything, startBefore: interval.end, endAfter: interval.start }),
}
const withinInterval: Scope<IntervalFields> = {
  fields: { interval: readInterval },
  region: ({ interval }) => ({ ...everything, startFrom: interval.start, endUpTo: interval.end }),
}
const overlappingPeriod: Scope<WindowFields> = {
  fields: { period: readPeriod, includeFuture: readFlagOrTrue },
  region({ period, includeFuture }, now) {
    const endAfter = subtractPeriod(now, period)
    return includeFuture ? { ...everything, endAfter } : { ...everything, endAfter, startBefore: now }
  },
}
const withinPeriod: Scope<WindowFields> = {
  fields: { period: readPeriod, includeFuture: readFlagOrTrue },
  region({ period, includeFuture }, now) {
    // A segment without a start begins before every window, even before a window so long that it has no start either.
    const startFrom = Math.max(subtractPeriod(now, period), -Number.MAX_VALUE)
    return includeFuture
      ? { ...everything, startFrom }
      : { ...everything, startFrom, startBefore: now, endUpTo: now }
  },
}
const beforePeriod: Scope<PeriodFields> = {
  fields: { period: readPeriod },
  region: ({ period }, now) => ({ ...everything, endUpTo: subtractPeriod(now, period) }),
}

// A rule may list thousands of tiers, and this result is needed for each datasource and run.
const loadsOf = new WeakMap<TieredReplicants, WantedCopies>()

function wantedLoads({ tieredReplicants }: LoadFields): WantedCopies {
  let wanted = loadsOf.get(tieredReplicants)
  if (wanted === undefined) {
    const named = Object.entries(tieredReplicants).filter(([, count]) => count > 0)
    wanted = { action: 'load', tieredReplicants: new Map(named) }
    loadsOf.set(tieredReplicants, wanted)
  }
  return wanted
}

const noCopies: WantedCopies = { action: 'drop' }
const copiesEverywhere: WantedCopies = { action: 'broadcast' }

const drop = <Fields>(scope: Scope<Fields>): RuleDefinition<Fields> => ({ ...scope, wanted: () => noCopies })
const broadcast = <Fields>(scope: Scope<Fields>): RuleDefinition<Fields> => ({
  ...scope,
  wanted: () => copiesEverywhere,
})
const load = <Fields>({ fields, region }: Scope<Fields>): RuleDefinition<Fields & LoadFields> => ({
  fields: {
    ...fields,
    // The replicas depend on another field, so readRule reads them after all fields.
    tieredReplicants: described(tieredReplicantsSchema(), (json) => json),
    useDefaultTierForNull: readFlagOrTrue,
  } as RuleDefinition<Fields & LoadFields>['fields'],
  region,
  wanted: wantedLoads,
})
const definitions = {
  loadForever: load(always),
  loadByPeriod: load(overlappingPeriod),
  loadByInterval: load(overlappingInterval),
  dropForever: drop(always),
  dropByPeriod: drop(withinPeriod),
  dropBeforeByPeriod: drop(beforePeriod),
  dropByInterval: drop(withinInterval),
  broadcastForever: broadcast(always),
  broadcastByPeriod: broadcast(overlappingPeriod),
  broadcastByInterval: broadcast(overlappingInterval),
}

/** The type of a rule. */
export type RuleType = keyof typeof definitions

type FieldsOf<Type extends RuleType> =
  (typeof definitions)[Type] extends RuleDefinition<infer Fields> ? Fields : never

/** A retention rule with its defaults filled in. Fields have the same names as in JSON. */
export type Rule = { [Type in RuleType]: { readonly type: Type } & FieldsOf<Type> }[RuleType]

/** Names of the ten rule types. */
export const ruleTypes = Object.keys(definitions) as readonly RuleType[]

/** Returns what defines a rule type. */
export const definitionOf = (type: RuleType): RuleDefinition<Rule> =>
  definitions[type] as unknown as RuleDefinition<Rule>

/** Returns whether a rule applies to every segment at any time. */
export const appliesToEverything = ({ type }: Rule): boolean => definitions[type].region === always.region

/** Returns whether a rule drops the segments of a fixed interval. */
export const dropsInterval = ({ type }: Rule): boolean => type === 'dropByInterval'

/** Returns the first rule type with the same regions as this one: both apply to the same segments if their fields are the same. */
export const regionTypeOf = (type: RuleType): RuleType =>
  ruleTypes.find((other) => definitions[other].region === definitions[type].region) ?? type

/** Returns the period of a rule that loads the segments of the last period; undefined for other rules. */
export const loadedPeriodOf = (rule: Rule): Period | undefined =>
  rule.type === 'loadByPeriod' ? rule.period : undefined

/** Returns the region of a rule at `now` (epoch milliseconds), with the same bounds as Druid 37. */
export const regionOf = (rule: Rule, now: number): RuleRegion => definitionOf(rule.type).region(rule, now)

/** Returns what the rule requires, without tiers that get 0 replicas. The same rule always returns the same object. */
export const describeWantedCopies = (rule: Rule): WantedCopies => definitionOf(rule.type).wanted(rule)
