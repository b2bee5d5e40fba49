import { defaultRule, defaultRulesName, type Rule, type RuleType } from '../rules/index.ts'
import { formatInterval } from '../time/index.ts'
import type { PreviewCluster } from './cluster.ts'
import type { DatasourceOutcome, Outcome } from './outcome.ts'
import type { TierSummary } from './summary.ts'
import { findUnreachedRules, type UnreachedRule } from './unreached.ts'

/** A rule by its place: `index` counts from 0 in the list of its datasource, or in that of the cluster's defaults. */
export interface RuleReference {
  readonly index: number
  readonly type: RuleType
  readonly source: 'datasource' | 'default'
}

/** What somebody who changes rules may not have meant. */
export type PreviewWarning = { readonly message: string } & (
  | {
      readonly type: 'ruleNeverReached'
      readonly dataSource: string
      readonly rule: RuleReference
      /** The rules before it that take all its segments; none where it applies to nothing by itself. */
      readonly hiddenBy: readonly RuleReference[]
    }
  | {
      readonly type: 'dataBecomesUnused'
      readonly dataSource: string
      readonly rule: RuleReference
      readonly segments: number
      readonly bytes: number
      /** From the first to the last of them. */
      readonly interval: string
    }
  | { readonly type: 'futureDataDropped'; readonly dataSource: string; readonly rule: RuleReference }
  | {
      readonly type: 'tierWithoutServers'
      readonly dataSource: string
      readonly tier: string
      readonly rule: RuleReference
    }
  | {
      readonly type: 'replicasAboveServers'
      readonly dataSource: string
      readonly tier: string
      readonly rule: RuleReference
      readonly replicas: number
      readonly servers: number
    }
  | { readonly type: 'serverCannotHoldSegments'; readonly server: string; readonly dataSource: string }
  | { readonly type: 'doesNotFit'; readonly tier: string; readonly copies: number; readonly bytes: number }
)

// No more are told: who has so many needs the first ones.
const mostWarnings = 1000
// Servers without room that are named one by one.
const mostServers = 20

/** What a rule is called, from its index in all rules of a datasource; the last of all belongs to the defaults. */
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
 * What is to be said of the rules of a datasource by themselves. Under `_default`, of the defaults of the cluster. Pauses
 * now and then.
 */
export function* warningsOfList(
  dataSource: string,
  rules: readonly Rule[],
  now: number,
): Generator<undefined, readonly PreviewWarning[]> {
  return describeUnreached(dataSource, rules, yield* findUnreachedRules(rules, now))
}

function describeUnreached(
  dataSource: string,
  rules: readonly Rule[],
  unreached: readonly UnreachedRule[],
): PreviewWarning[] {
  const lists = dataSource === defaultRulesName ? { own: [], defaults: rules } : { own: rules, defaults: [] }
  return unreached.map(({ index, hiddenBy }) => {
    const rule = referenceTo(lists, index)
    const hiding = hiddenBy.map((other) => referenceTo(lists, other))
    const why =
      hiding.length === 0
        ? 'it applies to nothing'
        : `${hiding.map(nameOf).join(' and ')} before it ${hiding.length === 1 ? 'takes' : 'take'} all that it applies to`
    return {
      type: 'ruleNeverReached',
      dataSource,
      rule,
      hiddenBy: hiding,
      message: `Datasource [${dataSource}]: ${nameOf(rule)} is never reached, ${why}`,
    }
  })
}

/** What is to be said of the rules of the datasources concerned, in this cluster, with these segments; pauses. */
export function* warningsOf(
  outcome: Outcome,
  concerned: ReadonlySet<string>,
  defaultsChange: boolean,
  tiers: readonly TierSummary[],
): Generator<undefined, PreviewWarning[]> {
  const warnings: PreviewWarning[] = []
  const ofDatasources = outcome.datasources.filter(({ columns }) => concerned.has(columns.dataSource))
  // One list may be previewed for all datasources.
  const unreachedIn = new Map<readonly Rule[], UnreachedRule[]>()
  function* warnOfList(dataSource: string, rules: readonly Rule[]): Generator<undefined, void> {
    const unreached = unreachedIn.get(rules) ?? (yield* findUnreachedRules(rules, outcome.now))
    unreachedIn.set(rules, unreached)
    warnings.push(...describeUnreached(dataSource, rules, unreached.slice(0, mostWarnings)))
  }
  if (defaultsChange && ofDatasources[0] !== undefined)
    yield* warnOfList(defaultRulesName, ofDatasources[0].defaults)
  for (const datasource of ofDatasources) {
    if (warnings.length >= mostWarnings) break
    yield* warnOfList(datasource.columns.dataSource, datasource.own)
    warnings.push(
      ...warningsOfData(datasource, outcome.now).slice(0, mostWarnings),
      ...firstOf(warningsOfTiers(datasource, outcome.cluster), mostWarnings),
    )
    yield
  }
  for (const { tier, doesNotFit } of tiers) {
    if (doesNotFit.copies === 0) continue
    const { copies, bytes } = doesNotFit
    const message = `Tier [${tier}] has no room for [${copies}] copies with [${bytes}] bytes`
    warnings.push({ type: 'doesNotFit', tier, copies, bytes, message })
  }
  return warnings.slice(0, mostWarnings)
}

function warningsOfData(datasource: DatasourceOutcome, now: number): PreviewWarning[] {
  const { boundaries, columns, stretches, targetOf } = datasource
  const { dataSource, starts, ends, bytesBefore } = columns
  const byRule = new Map<number, { segments: number; bytes: number; start: number; end: number }>()
  let futureRule: number | undefined
  for (const { from, to, rule } of stretches) {
    if (targetOf(rule).action !== 'drop') continue
    const unused = byRule.get(rule) ?? { segments: 0, bytes: 0, start: Infinity, end: -Infinity }
    unused.segments += to - from
    unused.bytes += bytesBefore[to]! - bytesBefore[from]!
    unused.start = Math.min(unused.start, starts[from]!)
    unused.end = Math.max(unused.end, ends[to - 1]!)
    byRule.set(rule, unused)
    if (starts[to - 1]! >= now) futureRule ??= rule
  }
  const warnings: PreviewWarning[] = [...byRule].map(([index, { segments, bytes, start, end }]) => {
    const rule = referenceTo(datasource, index)
    const interval = formatInterval({ start, end })
    const message = `Datasource [${dataSource}]: ${nameOf(rule)} makes [${segments}] segments with [${bytes}] bytes in [${interval}] unused`
    return { type: 'dataBecomesUnused', dataSource, rule, segments, bytes, interval, message }
  })
  // Any data that may still come, however far ahead.
  const farAhead = boundaries.match({ start: Number.MAX_VALUE / 2, end: Number.MAX_VALUE })
  futureRule ??= targetOf(farAhead).action === 'drop' ? farAhead : undefined
  if (futureRule !== undefined) {
    const rule = referenceTo(datasource, futureRule)
    const message = `Datasource [${dataSource}]: ${nameOf(rule)} drops data of the future`
    warnings.push({ type: 'futureDataDropped', dataSource, rule, message })
  }
  return warnings
}

/** Rules that want what the servers cannot give: those of the datasource, and the defaults that some segment is under. */
function* warningsOfTiers(
  datasource: DatasourceOutcome,
  cluster: PreviewCluster,
): Generator<PreviewWarning, void> {
  const { boundaries, columns, own, stretches } = datasource
  const { dataSource } = columns
  const inUse = new Set(stretches.map(({ rule }) => rule))
  const servers = new Map(cluster.tiers.map((tier) => [tier.name, tier.servers.length]))
  let broadcasts = false
  const indexes = new Set([...own.keys(), ...[...inUse].sort((a, b) => a - b)])
  for (const index of indexes) {
    const wanted = boundaries.wantedBy(index)
    if (wanted.action === 'broadcast') broadcasts = true
    if (wanted.action !== 'load') continue
    const rule = referenceTo(datasource, index)
    for (const [tier, replicas] of wanted.tieredReplicants) {
      const count = servers.get(tier) ?? 0
      const subject = `Datasource [${dataSource}]: ${nameOf(rule)} wants [${replicas}] copies in tier [${tier}]`
      if (count === 0) {
        const message = `${subject}, which has no servers: none is loaded there`
        yield { type: 'tierWithoutServers', dataSource, tier, rule, message }
      } else if (replicas > count) {
        const message = `${subject}, which has [${count}] servers: each holds one copy at the most`
        yield { type: 'replicasAboveServers', dataSource, tier, rule, replicas, servers: count, message }
      }
    }
  }
  if (broadcasts) {
    for (const { name, type } of cluster.unable.slice(0, mostServers)) {
      const message = `Datasource [${dataSource}]: the ${type} [${name}] has no room for segments and cannot hold broadcast ones; it needs [svc.segmentCache.locations]`
      yield { type: 'serverCannotHoldSegments', server: name, dataSource, message }
    }
  }
}

function firstOf<Item>(items: Iterable<Item>, most: number): Item[] {
  const first: Item[] = []
  for (const item of items) {
    if (first.length === most) break
    first.push(item)
  }
  return first
}
