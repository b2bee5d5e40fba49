import type { RulesPolicy } from '@svc/domain/rules-policy'
import { similarNamesText } from '@svc/domain/validation'
import type { ClusterClient } from '../client/index.ts'
import type { Change } from '../declared-state/index.ts'
import type { AnsweredPreview } from '../preview/index.ts'

/** Returns the policy in a file; nothing without a file. Throws a Failure with file, line, and column if it is invalid. */
export async function policyIn(file: string | undefined): Promise<RulesPolicy | undefined> {
  if (file === undefined) return undefined
  const { readPolicyFile } = await import('../state-files/index.ts')
  return readPolicyFile(file)
}

/** Returns why a policy forbids changes, one sentence each; nothing without a policy. */
export async function policyViolationsOf(
  policy: RulesPolicy | undefined,
  changes: readonly Change[],
  preview: AnsweredPreview | undefined,
): Promise<readonly string[]> {
  if (policy === undefined) return []
  const { violationsOf } = await import('../plan/index.ts')
  return violationsOf(policy, changes, preview)
}

/** Returns why the policy of the cluster forbids a change of rules; undefined if it does not, or if that is not known. */
export const clusterViolation = (
  preview: Pick<AnsweredPreview, 'warnings'> | undefined,
): string | undefined => preview?.warnings.find(({ type }) => type === 'forbiddenByPolicy')?.message

/** Returns a warning for each name in a policy that the cluster does not have: it may be a typo, and protects nothing. */
export async function policyWarnings(
  policy: RulesPolicy | undefined,
  client: ClusterClient,
  preview: { readonly summary: Pick<AnsweredPreview['summary'], 'tiers'> } | undefined,
): Promise<readonly string[]> {
  if (policy === undefined || preview === undefined) return []
  const { protectedDatasources, protectedTiers } = policy
  const { tiers } = preview.summary
  const warnings: string[] = []
  if (protectedDatasources.length > 0) {
    const { knownDatasources } = await import('../rules/index.ts')
    const known = await knownDatasources(client)
    for (const name of protectedDatasources)
      if (!known.has(name))
        warnings.push(
          `The policy protects an unknown datasource [${name}] ([protectedDatasources])${hint(name, known)}`,
        )
  }
  // Users without access to the state of the cluster do not see its tiers.
  if (tiers !== undefined)
    for (const name of protectedTiers)
      if (!Object.hasOwn(tiers, name))
        warnings.push(
          `The policy protects an unknown tier [${name}] ([protectedTiers])${hint(name, Object.keys(tiers))}`,
        )
  return warnings
}

function hint(name: string, known: Iterable<string>): string {
  const similar = similarNamesText(name, known)
  return similar && `. ${similar}`
}

/** Returns a sentence if a preview has losses that the policy in a file does not limit; otherwise undefined. */
export const policyNotice = (
  file: string | undefined,
  preview: Pick<AnsweredPreview, 'summary'> | undefined,
): string | undefined =>
  file === undefined || Object.keys(preview?.summary.laterLosses ?? {}).length === 0
    ? undefined
    : 'The policy limits only what is lost when the plan is applied. To fail on losses within the horizon, too, add --fail-on.'
