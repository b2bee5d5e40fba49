import { Failure } from '@svc/domain/failure'
import { defaultRulesName, describeWantedCopies, parseRules } from '@svc/domain/rules'
import { type Change, fieldAt, readLogin } from '../declared-state/index.ts'
import type { AnsweredPreview } from '../preview/index.ts'
import { countOf, formatBytes } from '../terminal/index.ts'

// With fewer, one failed server makes data unqueryable.
const minReplicas = 2

/** Returns what the user should know about changes before applying them, in addition to the warnings of the preview. */
export function warningsOfPlan(changes: readonly Change[], preview: AnsweredPreview | undefined): string[] {
  return [
    ...changes.flatMap((change) => warningsOfChange(change, preview)),
    ...(preview === undefined ? [] : warningsOfTiers(preview)),
  ]
}

function warningsOfChange(change: Change, preview: AnsweredPreview | undefined): string[] {
  const { kind, path: at, action, after } = change
  const name = at.at(-1)!
  if (kind === 'rules') return warningsOfReplicas(change, preview)
  if (kind === 'logins' && action === 'add' && readLogin(after, '').password === undefined)
    return [
      `User [${name}] will have no password and cannot log in: add the field [password] with [file] or [environment]`,
    ]
  if (kind === 'compactionCluster' && name === 'useSupervisors')
    return [
      'Compaction supervisors use separate datasource configurations: run ./svc plan again after this change',
    ]
  if (action === 'remove' && (kind === 'roles' || kind === 'users' || kind === 'logins'))
    return [`Removes ${kind === 'roles' ? 'role' : 'user'} [${name}] from [${at[1]}]`]
  return []
}

/** Returns a warning for each rule that loads fewer than two replicas, unless the preview already warns about the rule. */
function warningsOfReplicas({ path: at, after }: Change, preview: AnsweredPreview | undefined): string[] {
  const source = at.at(-1) === defaultRulesName ? 'default' : 'datasource'
  const isInPreview = (index: number): boolean =>
    preview?.warnings.some(
      ({ type, rule, dataSource }) =>
        type === 'noReplicasLoaded' &&
        rule?.index === index &&
        rule.source === source &&
        (source === 'default' || dataSource === at.at(-1)),
    ) ?? false
  const subject = at.at(-1) === defaultRulesName ? 'Cluster defaults' : fieldAt(at)
  return (Array.isArray(after) ? after : []).flatMap((json, index) => {
    const replicas = replicasOf(json)
    if (replicas === undefined || replicas >= minReplicas) return []
    if (replicas === 0)
      return isInPreview(index)
        ? []
        : [`${subject}: rule [${index}] loads no replicas, so data that it applies to cannot be queried`]
    return [
      `${subject}: rule [${index}] loads only ${countOf(replicas, 'replica')} of each segment, so data is unqueryable while a server is down`,
    ]
  })
}

/** Returns how many replicas a rule loads; undefined if it loads none, or if svc cannot read it. */
function replicasOf(json: unknown): number | undefined {
  try {
    const wanted = describeWantedCopies(parseRules([json])[0]!)
    return wanted.action === 'load'
      ? [...wanted.tieredReplicants.values()].reduce((sum, count) => sum + count, 0)
      : undefined
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}

/**
 * Returns a warning for each tier that runs out of space for other datasources within the horizon. The preview itself
 * says what does not fit of the changed datasources, and which tiers are full now.
 */
function warningsOfTiers({
  now,
  summary: { tiers = {}, steps = [], laterLosses = {} },
}: AnsweredPreview): string[] {
  return Object.entries(tiers).flatMap(([tier, { doesNotFitFrom }]) => {
    if (doesNotFitFrom === null || doesNotFitFrom === now) return []
    if (laterLosses.doesNotFit?.tiers?.includes(tier)) return []
    // `doesNotFitFrom` is accurate to the hour, but steps are up to a month apart.
    const missing = steps.find((step) => step.now >= doesNotFitFrom)?.tiers?.[tier]?.doesNotFit
    const what =
      missing === undefined
        ? ''
        : `: ${countOf(missing.copies, 'replica')} (${formatBytes(missing.bytes)}) will not fit`
    return [`Tier [${tier}] will be full on ${doesNotFitFrom.split('T')[0]}${what}`]
  })
}
