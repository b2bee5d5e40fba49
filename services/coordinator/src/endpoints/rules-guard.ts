import { missingPermission } from '@svc/domain/access'
import { conflict } from '@svc/domain/failure'
import type { Rule } from '@svc/domain/rules'
import { policyViolations, type RulesPolicy, violationsText } from '@svc/domain/rules-policy'
import type { AuditInfo } from '@svc/shared/http'
import type { Caller } from '@svc/shared/security'
import type { Previews } from '../preview/index.ts'

/** The resource of the type CONFIG that changes against the policy require WRITE on. */
const overrideResource = 'rulesOverride'

/** A change to a list of rules, and who makes it. */
export interface GuardedChange {
  readonly dataSource: string
  readonly list: readonly Rule[]
  readonly audit: AuditInfo
  readonly caller: Caller
  /** Whether the caller requests the change although the policy forbids it. */
  readonly overridesPolicy: boolean
  readonly signal: AbortSignal
}

/**
 * Checks a change to rules against the policy of the cluster. Returns the audit information of the change, with what it
 * overrides. Throws conflict if the policy forbids it, and unavailable until the leader knows the cluster.
 */
export type RulesGuard = (change: GuardedChange) => Promise<AuditInfo>

/** Returns the guard for a policy; undefined allows everything. */
export function createRulesGuard(
  policy: RulesPolicy | undefined,
  { summaryOf }: Pick<Previews, 'summaryOf'>,
): RulesGuard {
  return async ({ dataSource, list, audit, caller, overridesPolicy, signal }) => {
    if (policy === undefined) return audit
    if (overridesPolicy && !caller.can('WRITE', 'CONFIG', overrideResource))
      throw missingPermission('WRITE', 'CONFIG', overrideResource)
    const summary = await summaryOf(dataSource, list, signal).catch((error: unknown) => {
      if (overridesPolicy) return undefined
      throw error
    })
    const violations =
      summary === undefined
        ? ['The change could not be previewed']
        : policyViolations(policy, new Map([[dataSource, list]]), summary)
    if (violations.length === 0) return audit
    if (!overridesPolicy)
      throw conflict(
        `${violationsText(violations)}. To change the rules anyway, add the parameter [overridePolicy], which requires permission [WRITE] on [CONFIG] [${overrideResource}].`,
      )
    return { ...audit, comment: `${audit.comment} (overrides the policy: ${violations.join('. ')})`.trim() }
  }
}
