import {
  defaultRule,
  defaultRulesName,
  type Rule,
  RuleBoundaries,
  type RuleType,
  type WantedCopies,
} from '../rules/index.ts'
import { countOf, formatBytes, formatList } from '../text/index.ts'
import { formatInterval, formatPeriod } from '../time/index.ts'
import { similarName } from '../validation/index.ts'
import { findAddedPeriods } from './added-periods.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { Outcome } from './decide-outcome.ts'
import type { ServersByTier } from './servers-by-tier.ts'
import type { TierSummary } from './summary.ts'
import { findUnreachedRules, type UnreachedRule } from './unreached.ts'

/** Refers to a rule. `index` starts at 0 in the list of its datasource or in the cluster's default rules. */
export interface RuleReference {
  readonly index: number
  readonly type: RuleType
  readonly source: 'datasource' | 'default'
}

/** The segments that a rule applies to. */
interface DataOfRule {
  readonly dataSource: string
  readonly rule: RuleReference
  readonly segments: number
  readonly bytes: number
  /** From the start of the first segment to the end of the last. */
  readonly interval: string
}

/** A possibly unintended effect of a rule change. */
export type PreviewWarning = { readonly message: string } & (
  | {
      readonly type: 'ruleNeverReached'
      readonly dataSource: string
      readonly rule: RuleReference
      /** Earlier rules that apply to all its segments. Empty if the rule applies to nothing by itself. */
      readonly hiddenBy: readonly RuleReference[]
    }
  | ({ readonly type: 'dataBecomesUnused' } & DataOfRule)
  /** A load rule requires no replicas. */
  | ({ readonly type: 'noReplicasLoaded' } & DataOfRule)
  | { readonly type: 'futureDataDropped'; readonly dataSource: string; readonly rule: RuleReference }
  | {
      readonly type: 'tierWithoutServers'
      readonly dataSource: string
      readonly tier: string
      readonly rule: RuleReference
      /** A tier with servers whose name differs by a letter. */
      readonly similarTier?: string
    }
  | {
      readonly type: 'datasourceWithoutSegments'
      readonly dataSource: string
      /** A datasource with segments whose name differs by a letter. */
      readonly similarDatasource: string
    }
  | {
      readonly type: 'periodsDoNotAddUp'
      readonly dataSource: string
      /** Load rules with increasing periods, followed by a drop rule. */
      readonly rules: readonly RuleReference[]
      /** The longest of the periods, which is what the rules keep. */
      readonly keeps: string
      readonly sum: string
    }
  | {
      readonly type: 'replicasAboveServers'
      readonly dataSource: string
      readonly tier: string
      readonly rule: RuleReference
      readonly replicas: number
      readonly servers: number
    }
  | {
      /** `requestedSegmentsStay`: segments that requests marked as unused. */
      readonly type: 'unusedSegmentsStay' | 'requestedSegmentsStay'
      readonly dataSource: string
      readonly segments: number
      readonly bytes: number
      /** From the start of the first segment to the end of the last. */
      readonly interval: string
    }
  /** The caller may not read some of the datasources that the change affects. */
  | { readonly type: 'incompletePreview' }
  | { readonly type: 'serverCannotHoldSegments'; readonly server: string; readonly dataSource: string }
  | { readonly type: 'doesNotFit'; readonly tier: string; readonly copies: number; readonly bytes: number }
)

/** What warnings depend on in addition to the outcome. */
export interface WarningsContext {
  /** Whether the cluster's default rules change, too. */
  readonly defaultsChange: boolean
  /** Datasources with segments that warnings may suggest instead of a mistyped one. */
  readonly knownDatasources: readonly string[]
}

/** Maximum number of warnings. More would not help. */
export const maxWarnings = 1000
// Maximum number of rules to list whose periods do not add up.
const maxPeriodRules = 10
// Maximum number of servers without storage to list.
const maxServers = 20

/** Returns a reference from an index into all rules of a datasource. The last rule belongs to the defaults. */
export function referenceTo(
  { own, defaults }: { readonly own: readonly Rule[]; readonly defaults: readonly Rule[] },
  index: number,
): RuleReference {
  const { type } = own[index] ?? defaults[index - own.length] ?? defaultRule
  return index < own.length
    ? { index, type, source: 'datasource' }
    : { index: index - own.length, type, source: 'default' }
}

const nameOf = ({ index, type, source }: RuleReference): string =>
  `${source === 'default' ? 'default rule' : 'rule'} [${index}] [${type}]`

/**
 * Returns warnings about a list of rules by itself, independent of data and servers. The name `_default` means the
 * cluster's default rules. Yields regularly.
 */
export function* warningsOfList(
  dataSource: string,
  rules: readonly Rule[],
  now: number,
): Generator<undefined, readonly PreviewWarning[]> {
  return [
    ...describeUnreached(dataSource, rules, yield* findUnreachedRules(rules, now)),
    ...warningsOfPeriods(dataSource, rules, [], now),
  ]
}

function listsOf(dataSource: string, rules: readonly Rule[]) {
  return dataSource === defaultRulesName ? { own: [], defaults: rules } : { own: rules, defaults: [] }
}

/** Returns a warning about periods that do not add up. `following` are the rules after the list. */
function warningsOfPeriods(
  dataSource: string,
  rules: readonly Rule[],
  following: readonly Rule[],
  now: number,
): PreviewWarning[] {
  const added = findAddedPeriods(rules, following, now)
  if (added === undefined) return []
  const lists = listsOf(dataSource, rules)
  const [keeps, sum] = [formatPeriod(added.keeps), formatPeriod(added.sum)]
  const indexes = added.indexes.slice(0, maxPeriodRules)
  const more = added.indexes.length - indexes.length
  const numbers = formatList([
    ...indexes.map((index) => `[${index}]`),
    ...(more > 0 ? [countOf(more, 'more rule')] : []),
  ])
  const periods = indexes.length === 2 ? 'both periods' : 'all periods'
  return [
    {
      type: 'periodsDoNotAddUp',
      dataSource,
      rules: indexes.map((index) => referenceTo(lists, index)),
      keeps,
      sum,
      message: `Datasource [${dataSource}]: ${dataSource === defaultRulesName ? 'default rules' : 'rules'} ${numbers} together keep only [${keeps}] of data, not [${sum}], because ${periods} are counted back from now`,
    },
  ]
}

function describeUnreached(
  dataSource: string,
  rules: readonly Rule[],
  unreached: readonly UnreachedRule[],
): PreviewWarning[] {
  const lists = listsOf(dataSource, rules)
  return unreached.map(({ index, hiddenBy }) => {
    const rule = referenceTo(lists, index)
    const hiding = hiddenBy.map((other) => referenceTo(lists, other))
    const why =
      hiding.length === 0
        ? 'never applies because it matches no time range'
        : `is never reached because ${formatList(hiding.map(nameOf))} ${hiding.length === 1 ? 'applies' : 'apply'} to all its segments first`
    return {
      type: 'ruleNeverReached',
      dataSource,
      rule,
      hiddenBy: hiding,
      message: `Datasource [${dataSource}]: ${nameOf(rule)} ${why}`,
    }
  })
}

/** Returns warnings about the rules of the datasources in the answer, with their data and servers. Yields regularly. */
export function* warningsOf(
  outcome: Outcome,
  concerned: ReadonlySet<string>,
  { defaultsChange, knownDatasources }: WarningsContext,
  tiers: readonly TierSummary[],
): Generator<undefined, PreviewWarning[]> {
  const warnings: PreviewWarning[] = []
  const ofDatasources = outcome.datasources.filter(({ columns }) => concerned.has(columns.dataSource))
  // All datasources may share one list.
  const unreachedIn = new Map<readonly Rule[], UnreachedRule[]>()
  function* warnOfList(dataSource: string, rules: readonly Rule[]): Generator<undefined, void> {
    const unreached = unreachedIn.get(rules) ?? (yield* findUnreachedRules(rules, outcome.now))
    unreachedIn.set(rules, unreached)
    const following = dataSource === defaultRulesName ? [] : (ofDatasources[0]?.defaults ?? [])
    warnings.push(
      ...describeUnreached(dataSource, rules, unreached.slice(0, maxWarnings)),
      ...warningsOfPeriods(dataSource, rules, following, outcome.now),
    )
  }
  if (defaultsChange && ofDatasources[0] !== undefined) {
    const { defaults } = ofDatasources[0]
    yield* warnOfList(defaultRulesName, defaults)
    warnings.push(...firstOf(warningsOfMistypedTiers(defaults, ofDatasources, outcome), maxWarnings))
  }
  for (const datasource of ofDatasources) {
    if (warnings.length >= maxWarnings) break
    yield* warnOfList(datasource.columns.dataSource, datasource.own)
    warnings.push(
      ...warningsOfName(datasource, knownDatasources),
      ...warningsOfData(datasource, outcome.now).slice(0, maxWarnings),
      ...firstOf(warningsOfTiers(datasource, outcome.cluster), maxWarnings),
    )
    yield
  }
  for (const { tier, doesNotFit } of tiers) {
    if (doesNotFit.copies === 0) continue
    const { copies, bytes } = doesNotFit
    const message = `Tier [${tier}] has no space for ${countOf(copies, 'replica')} (${formatBytes(bytes)})`
    warnings.push({ type: 'doesNotFit', tier, copies, bytes, message })
  }
  return warnings.slice(0, maxWarnings)
}

/** Returns a warning if a datasource has no segments and is probably mistyped. */
function warningsOfName(
  { columns: { dataSource, count, overshadowed } }: DatasourceOutcome,
  knownDatasources: Iterable<string>,
): PreviewWarning[] {
  if (count + overshadowed.segments > 0) return []
  const similarDatasource = similarName(dataSource, knownDatasources)
  if (similarDatasource === undefined) return []
  const message = `Datasource [${dataSource}] has no segments (did you mean [${similarDatasource}]?)`
  return [{ type: 'datasourceWithoutSegments', dataSource, similarDatasource, message }]
}

function loadsNothing(wanted: WantedCopies): boolean {
  if (wanted.action !== 'load') return false
  // A rule may name thousands of tiers.
  for (const replicas of wanted.tieredReplicants.values()) if (replicas > 0) return false
  return true
}

function warningsOfData(datasource: DatasourceOutcome, now: number): PreviewWarning[] {
  const { boundaries, columns, stretches, targetOf } = datasource
  const { dataSource, starts, ends, bytesBefore } = columns
  const byRule = new Map<number, { segments: number; bytes: number; start: number; end: number }>()
  let futureRule: number | undefined
  for (const { from, to, rule } of stretches) {
    const isDropped = targetOf(rule).action === 'drop'
    if (!isDropped && !loadsNothing(boundaries.wantedBy(rule))) continue
    const lost = byRule.get(rule) ?? { segments: 0, bytes: 0, start: Infinity, end: -Infinity }
    lost.segments += to - from
    lost.bytes += bytesBefore[to]! - bytesBefore[from]!
    lost.start = Math.min(lost.start, starts[from]!)
    lost.end = Math.max(lost.end, ends[to - 1]!)
    byRule.set(rule, lost)
    if (isDropped && starts[to - 1]! >= now) futureRule ??= rule
  }
  const warnings: PreviewWarning[] = [...byRule].map(([index, { segments, bytes, start, end }]) => {
    const rule = referenceTo(datasource, index)
    const interval = formatInterval({ start, end })
    const subject = `Datasource [${dataSource}]: ${nameOf(rule)}`
    const data = `${countOf(segments, 'segment')} (${formatBytes(bytes)}) in [${interval}]`
    const found = { dataSource, rule, segments, bytes, interval }
    return targetOf(index).action === 'drop'
      ? { type: 'dataBecomesUnused', ...found, message: `${subject} marks ${data} as unused` }
      : {
          type: 'noReplicasLoaded',
          ...found,
          message: `${subject} loads no replicas of ${data}, which cannot be queried without a replica`,
        }
  })
  // Checks the rule for data that may be added later, however far in the future.
  const farAhead = boundaries.match({ start: Number.MAX_VALUE / 2, end: Number.MAX_VALUE })
  futureRule ??= targetOf(farAhead).action === 'drop' ? farAhead : undefined
  if (futureRule !== undefined) {
    const rule = referenceTo(datasource, futureRule)
    const message = `Datasource [${dataSource}]: ${nameOf(rule)} drops future data`
    warnings.push({ type: 'futureDataDropped', dataSource, rule, message })
  }
  return warnings
}

/** Yields warnings about rules that the servers cannot satisfy: rules of the datasource, and default rules in use. */
function* warningsOfTiers(
  datasource: DatasourceOutcome,
  cluster: ServersByTier,
): Generator<PreviewWarning, void> {
  const { boundaries, columns, own, stretches } = datasource
  const { dataSource } = columns
  const inUse = new Set(stretches.map(({ rule }) => rule))
  const indexes = new Set([...own.keys(), ...[...inUse].sort((a, b) => a - b)])
  yield* warningsOfRules(dataSource, datasource, indexes, cluster)
  if ([...indexes].every((index) => boundaries.wantedBy(index).action !== 'broadcast')) return
  for (const { name, type } of cluster.unable.slice(0, maxServers)) {
    const message = `Datasource [${dataSource}]: ${type} [${name}] cannot load broadcast segments because it has no segment cache; set [svc.segmentCache.locations] on this server`
    yield { type: 'serverCannotHoldSegments', server: name, dataSource, message }
  }
}

/** Yields warnings about load rules whose tiers have too few servers. */
function* warningsOfRules(
  dataSource: string,
  lists: Pick<DatasourceOutcome, 'boundaries' | 'own' | 'defaults'>,
  indexes: Iterable<number>,
  cluster: ServersByTier,
): Generator<PreviewWarning, void> {
  const tiers = new Map(cluster.tiers.map((tier) => [tier.name, tier]))
  const tiersWithServers = cluster.tiers.filter((tier) => tier.servers.length > 0).map(({ name }) => name)
  for (const index of indexes) {
    const wanted = lists.boundaries.wantedBy(index)
    if (wanted.action !== 'load') continue
    const rule = referenceTo(lists, index)
    for (const [tier, replicas] of wanted.tieredReplicants) {
      const { servers = [], leaving = 0 } = tiers.get(tier) ?? {}
      const count = servers.length
      // Most replicas of a long list have enough servers, and a message takes much longer to format.
      if (replicas <= count) continue
      const subject = `Datasource [${dataSource}]: ${nameOf(rule)} requires ${countOf(replicas, 'replica')} in tier [${tier}]`
      if (count === 0) {
        const similarTier = leaving === 0 ? similarName(tier, tiersWithServers) : undefined
        const suggestion = similarTier === undefined ? '' : ` (did you mean [${similarTier}]?)`
        const lack = leaving === 0 ? 'which has no servers' : 'whose servers are all decommissioning'
        const message = `${subject}, ${lack}, so no replicas are loaded there${suggestion}`
        const similar = similarTier === undefined ? {} : { similarTier }
        yield { type: 'tierWithoutServers', dataSource, tier, rule, ...similar, message }
      } else {
        const staying = leaving === 0 ? '' : ` that ${count === 1 ? 'is' : 'are'} not decommissioning`
        const message = `${subject}, but that tier has only ${countOf(count, 'server')}${staying}, and each server loads at most one replica`
        yield { type: 'replicasAboveServers', dataSource, tier, rule, replicas, servers: count, message }
      }
    }
  }
}

/**
 * Yields warnings about changed default rules that no segment needs now, but that name a tier without servers that is probably
 * mistyped.
 */
function* warningsOfMistypedTiers(
  defaults: readonly Rule[],
  datasources: readonly DatasourceOutcome[],
  { cluster, now }: Outcome,
): Generator<PreviewWarning, void> {
  const inUse = new Set(
    datasources.flatMap(({ own, stretches }) => stretches.map(({ rule }) => rule - own.length)),
  )
  const alone = { own: [], defaults, boundaries: new RuleBoundaries([], defaults, now) }
  const unused = [...defaults.keys()].filter((index) => !inUse.has(index))
  for (const warning of warningsOfRules(defaultRulesName, alone, unused, cluster))
    if (warning.type === 'tierWithoutServers' && warning.similarTier !== undefined) yield warning
}

function firstOf<Item>(items: Iterable<Item>, max: number): Item[] {
  const first: Item[] = []
  for (const item of items) {
    if (first.length === max) break
    first.push(item)
  }
  return first
}
