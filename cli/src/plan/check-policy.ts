import { Failure } from '@svc/domain/failure'
import { parseRules, type Rule } from '@svc/domain/rules'
import { limitsLosses, policyViolations, type RulesPolicy } from '@svc/domain/rules-policy'
import type { Change } from '../declared-state/index.ts'
import { type AnsweredPreview, leavesOutDatasources } from '../preview/index.ts'

/**
 * Returns why a policy forbids changes, one sentence each. The preview is undefined if no rules change. Limits of losses forbid
 * changes that may affect datasources that the user may not read.
 */
export function violationsOf(
  policy: RulesPolicy,
  changes: readonly Change[],
  preview: AnsweredPreview | undefined,
): string[] {
  if (preview === undefined) return []
  const lists = changes
    .filter(({ kind }) => kind === 'rules')
    .map(({ path, after }) => [path.at(-1)!, readableRules(after)] as const)
  const isUnknown = limitsLosses(policy) && leavesOutDatasources(preview)
  return [
    ...policyViolations(policy, new Map(lists), preview.summary),
    ...(isUnknown
      ? [
          'The preview leaves out datasources that this user may not read, so the policy cannot be checked for them',
        ]
      : []),
  ]
}

/** A list with values that svc cannot read is one that the cluster already has, so it is not a change for the worse. */
function readableRules(list: unknown): readonly Rule[] {
  try {
    return parseRules(list ?? [])
  } catch (error) {
    if (error instanceof Failure) return []
    throw error
  }
}
