import { defaultRulesName, describeWantedCopies, type Rule } from '../rules/index.ts'
import { countOf, formatBytes } from '../text/index.ts'
import type { RulesPolicy } from './rules-policy.ts'

interface Tally {
  readonly segments: number
  readonly bytes: number
}

/** The parts of the summary of a preview that policies limit. */
export interface LimitedEffects {
  /** Used segments of all datasources of the cluster; undefined if the user may not read them. */
  readonly used?: Tally | undefined
  readonly effects: { readonly unused: Tally }
  readonly datasources: Readonly<
    Record<
      string,
      {
        readonly used: Tally
        readonly effects: {
          readonly unused: Tally
          readonly unqueryable: { readonly queryableBefore: number }
        }
        readonly tiers: Readonly<Record<string, { readonly dropped: { readonly copies: number } }>>
      }
    >
  >
}

/** Whether a policy limits what happens to data, and not only which rules are allowed. */
export const limitsLosses = ({
  requireIncludeFuture: _,
  minReplicas: __,
  protectedDatasources,
  protectedTiers,
  ...limits
}: RulesPolicy): boolean =>
  protectedDatasources.length + protectedTiers.length > 0 ||
  Object.values(limits).some((limit) => limit !== undefined)

/** Says that the policy of the cluster forbids a change, and why. */
export const violationsText = (violations: readonly string[]): string =>
  `The policy of the cluster forbids this change. ${violations.join('. ')}`

/**
 * Returns why a policy forbids a change, one sentence for each reason; an empty list if the policy allows it. `lists`
 * are the new rules by datasource.
 */
export function policyViolations(
  policy: RulesPolicy,
  lists: ReadonlyMap<string, readonly Rule[]>,
  summary: LimitedEffects,
): string[] {
  return [
    ...[...lists].flatMap(([name, rules]) => violationsOfList(policy, name, rules)),
    ...Object.entries(summary.datasources).flatMap(([name, effects]) =>
      violationsOfData(policy, name, effects),
    ),
    ...violationsOfTiers(policy, summary),
    ...lossViolations('All datasources', summary.effects.unused, summary.used, {
      bytes: ['maxTotalUnusedBytes', policy.maxTotalUnusedBytes],
      percent: ['maxTotalUnusedPercent', policy.maxTotalUnusedPercent],
    }),
  ]
}

/**
 * Returns why a policy forbids a change, without the names and sizes of datasources that the user may not read. `readable` are
 * the effects on the others; it has no `used` if the user may not read the state of the cluster.
 */
export function shownViolations(
  policy: RulesPolicy,
  lists: ReadonlyMap<string, readonly Rule[]>,
  { complete, readable }: { readonly complete: LimitedEffects; readonly readable: LimitedEffects },
): string[] {
  // A percentage of all data would reveal how much there is.
  const limits = readable.used === undefined ? { ...policy, maxTotalUnusedPercent: undefined } : policy
  const shown = policyViolations(limits, lists, readable)
  return policyViolations(policy, lists, complete).every((violation) => shown.includes(violation))
    ? shown
    : [
        ...shown,
        'With its effects on datasources that the user may not read, the change exceeds a limit of the policy',
      ]
}

function violationsOfList(
  { requireIncludeFuture, minReplicas }: RulesPolicy,
  name: string,
  rules: readonly Rule[],
): string[] {
  const subject = name === defaultRulesName ? 'Cluster defaults' : `Datasource [${name}]`
  return rules.flatMap((rule, index) => {
    const wanted = describeWantedCopies(rule)
    const violations: string[] = []
    if (requireIncludeFuture && wanted.action !== 'drop' && 'includeFuture' in rule && !rule.includeFuture)
      violations.push(
        `${subject}: rule [${index}] [${rule.type}] must include the future ([requireIncludeFuture])`,
      )
    if (minReplicas !== undefined && wanted.action === 'load') {
      const replicas = [...wanted.tieredReplicants.values()].reduce((sum, count) => sum + count, 0)
      if (replicas < minReplicas)
        violations.push(
          `${subject}: rule [${index}] [${rule.type}] must load at least ${countOf(minReplicas, 'replica')}, not ${replicas} ([minReplicas])`,
        )
    }
    return violations
  })
}

function violationsOfData(
  policy: RulesPolicy,
  name: string,
  { used, effects }: LimitedEffects['datasources'][string],
): string[] {
  const subject = `Datasource [${name}]`
  const { unused, unqueryable } = effects
  const violations = lossViolations(subject, unused, used, {
    bytes: ['maxUnusedBytes', policy.maxUnusedBytes],
    percent: ['maxUnusedPercent', policy.maxUnusedPercent],
  })
  if (policy.protectedDatasources.includes(name) && unused.segments + unqueryable.queryableBefore > 0)
    violations.push(
      unused.segments > 0
        ? `${subject} is protected, but ${countOf(unused.segments, 'segment')} would be marked as unused ([protectedDatasources])`
        : `${subject} is protected, but ${countOf(unqueryable.queryableBefore, 'segment')} would become unqueryable ([protectedDatasources])`,
    )
  return violations
}

function violationsOfTiers({ protectedTiers }: RulesPolicy, { datasources }: LimitedEffects): string[] {
  return protectedTiers.flatMap((tier) => {
    const dropped = Object.values(datasources).reduce(
      (sum, { tiers }) => sum + (Object.hasOwn(tiers, tier) ? tiers[tier]!.dropped.copies : 0),
      0,
    )
    if (dropped === 0) return []
    return [`Tier [${tier}] is protected, but would drop ${countOf(dropped, 'replica')} ([protectedTiers])`]
  })
}

type Limit = readonly [name: string, max: number | undefined]

function lossViolations(
  subject: string,
  { segments, bytes }: Tally,
  used: Tally | undefined,
  { bytes: [bytesName, maxBytes], percent: [percentName, maxPercent] }: { bytes: Limit; percent: Limit },
): string[] {
  if (segments === 0) return []
  const violations: string[] = []
  const lost = `${subject}: ${countOf(segments, 'segment')} (${formatBytes(bytes)}) would be marked as unused`
  if (maxBytes !== undefined && bytes > maxBytes)
    violations.push(`${lost}, but the limit is ${formatBytes(maxBytes)} ([${bytesName}])`)
  if (maxPercent === undefined) return violations
  // Without the number of all used segments, the percentage is unknown, so nothing is allowed.
  const percent = used === undefined ? 100 : percentOf({ segments, bytes }, used)
  if (percent > maxPercent)
    violations.push(
      used === undefined
        ? `${lost}. Checking the limit of ${maxPercent}% of the used data ([${percentName}]) requires permission [READ] on [STATE]`
        : `${lost}, which is ${percent.toFixed(1)}% of the used data, but the limit is ${maxPercent}% ([${percentName}])`,
    )
  return violations
}

/** Virtual segments may have no bytes, so then their number counts. */
const percentOf = (part: Tally, all: Tally): number =>
  all.bytes > 0 ? (100 * part.bytes) / all.bytes : (100 * part.segments) / Math.max(1, all.segments)
