import { defaultRule, defaultRulesName, type Rule, type RuleType, regionOf } from '../rules/index.ts'
import { formatInterval } from '../time/index.ts'
import type { PreviewCluster } from './cluster.ts'
import { type DatasourceOutcome, listOf, type Outcome } from './outcome.ts'
import { firstRule } from './stretches.ts'
import type { TierSummary } from './summary.ts'
import { findUnreachedRules } from './unreached.ts'

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

/** What is to be said of the rules of a datasource by themselves. Under `_default`, of the defaults of the cluster. */
export function warningsOfList(
  dataSource: string,
  rules: readonly Rule[],
  now: number,
): readonly PreviewWarning[] {
  const lists = dataSource === defaultRulesName ? { own: [], defaults: rules } : { own: rules, defaults: [] }
  return findUnreachedRules(rules, now).map(({ index, hiddenBy }) => {
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

/** What is to be said of the rules of the datasources concerned, in this cluster, with these segments. */
export function warningsOf(
  outcome: Outcome,
  concerned: ReadonlySet<string>,
  defaultsChange: boolean,
  tiers: readonly TierSummary[],
): PreviewWarning[] {
  const warnings: PreviewWarning[] = []
  const ofDatasources = outcome.datasources.filter(({ columns }) => concerned.has(columns.dataSource))
  if (defaultsChange && ofDatasources[0] !== undefined)
    warnings.push(...warningsOfList(defaultRulesName, ofDatasources[0].defaults, outcome.now))
  for (const datasource of ofDatasources) {
    if (warnings.length >= mostWarnings) break
    warnings.push(
      ...warningsOfList(datasource.columns.dataSource, datasource.own, outcome.now),
      ...warningsOfData(datasource, outcome.now),
      ...warningsOfTiers(datasource, outcome.cluster),
    )
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
  const { columns, stretches, targets } = datasource
  const { dataSource, starts, ends, bytesBefore } = columns
  const byRule = new Map<number, { segments: number; bytes: number; start: number; end: number }>()
  let futureRule: number | undefined
  for (const { from, to, rule } of stretches) {
    if (targets[rule]!.action !== 'drop') continue
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
  const farAhead = firstRule(
    listOf(datasource).map((rule) => regionOf(rule, now)),
    Number.MAX_VALUE / 2,
    Number.MAX_VALUE,
  )
  futureRule ??= targets[farAhead]?.action === 'drop' ? farAhead : undefined
  if (futureRule !== undefined) {
    const rule = referenceTo(datasource, futureRule)
    const message = `Datasource [${dataSource}]: ${nameOf(rule)} drops data of the future`
    warnings.push({ type: 'futureDataDropped', dataSource, rule, message })
  }
  return warnings
}

/** Rules that want what the servers cannot give: those of the datasource, and the defaults that some segment is under. */
function warningsOfTiers(datasource: DatasourceOutcome, cluster: PreviewCluster): PreviewWarning[] {
  const { compiled, columns, own, stretches } = datasource
  const { dataSource } = columns
  const inUse = new Set(stretches.map(({ rule }) => rule))
  const servers = new Map(cluster.tiers.map((tier) => [tier.name, tier.servers.length]))
  const warnings: PreviewWarning[] = []
  let broadcasts = false
  for (const [index, { wanted }] of compiled.entries()) {
    if (index >= own.length && !inUse.has(index)) continue
    if (wanted.action === 'broadcast') broadcasts = true
    if (wanted.action !== 'load') continue
    const rule = referenceTo(datasource, index)
    for (const [tier, replicas] of wanted.tieredReplicants) {
      const count = servers.get(tier) ?? 0
      const subject = `Datasource [${dataSource}]: ${nameOf(rule)} wants [${replicas}] copies in tier [${tier}]`
      if (count === 0) {
        const message = `${subject}, which has no servers: none is loaded there`
        warnings.push({ type: 'tierWithoutServers', dataSource, tier, rule, message })
      } else if (replicas > count) {
        const message = `${subject}, which has [${count}] servers: each holds one copy at the most`
        warnings.push({
          type: 'replicasAboveServers',
          dataSource,
          tier,
          rule,
          replicas,
          servers: count,
          message,
        })
      }
    }
  }
  if (broadcasts) {
    for (const { name, type } of cluster.unable.slice(0, mostServers)) {
      const message = `Datasource [${dataSource}]: the ${type} [${name}] has no room for segments and cannot hold broadcast ones; it needs [svc.segmentCache.locations]`
      warnings.push({ type: 'serverCannotHoldSegments', server: name, dataSource, message })
    }
  }
  return warnings
}
