import { missingPermission } from '@svc/domain/access'
import { conflict } from '@svc/domain/failure'
import type { Rule } from '@svc/domain/rules'
import {
  type LimitedEffects,
  policyViolations,
  type RulesPolicy,
  shownViolations,
  violationsText,
} from '@svc/domain/rules-policy'
import { createConcurrencyLimit } from '@svc/shared/concurrency-limit'
import type { AuditInfo } from '@svc/shared/http'
import { type Caller, permittedItems } from '@svc/shared/security'
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

/** Checks changes to rules against the policy of the cluster. */
export interface RulesGuard {
  /** Throws forbidden if a caller may not override the policy. Allows everyone to override nothing, without a policy. */
  assertMayOverride(caller: Caller): void
  /**
   * Checks a change, and saves it with the audit information, which includes what it overrides. Throws conflict if the policy
   * forbids the change, and unavailable until the leader knows the cluster.
   */
  save(change: GuardedChange, save: (audit: AuditInfo) => Promise<void>): Promise<void>
}

/** Allows everything. */
export const noGuard: RulesGuard = {
  assertMayOverride: () => undefined,
  save: async ({ audit }, save) => await save(audit),
}

/** Returns the guard for a policy; undefined allows everything. */
export function createRulesGuard(
  policy: RulesPolicy | undefined,
  { summaryOf }: Pick<Previews, 'summaryOf'>,
): RulesGuard {
  if (policy === undefined) return noGuard
  const assertMayOverride = (caller: Caller): void => {
    if (!caller.can('WRITE', 'CONFIG', overrideResource))
      throw missingPermission('WRITE', 'CONFIG', overrideResource)
  }
  const checked = async ({
    dataSource,
    list,
    audit,
    caller,
    overridesPolicy,
    signal,
  }: GuardedChange): Promise<AuditInfo> => {
    if (overridesPolicy) assertMayOverride(caller)
    const summary = await summaryOf(dataSource, list, signal).catch((error: unknown) => {
      if (overridesPolicy) return undefined
      throw error
    })
    const violations =
      summary === undefined
        ? ['The change could not be previewed']
        : await violationsFor(caller, policy, new Map([[dataSource, list]]), summary)
    if (violations.length === 0) return audit
    if (!overridesPolicy)
      throw conflict(
        `${violationsText(violations)}. To change the rules anyway, add the parameter [overridePolicy], which requires permission [WRITE] on [CONFIG] [${overrideResource}].`,
      )
    return { ...audit, comment: `${audit.comment} (overrides the policy: ${violations.join('. ')})`.trim() }
  }
  // One at a time: two changes that are harmless on their own may lose data together.
  const oneAtATime = createConcurrencyLimit(1)
  return {
    assertMayOverride,
    save: (change, save) => oneAtATime(async () => await save(await checked(change))),
  }
}

type Lists = Parameters<typeof policyViolations>[1]

/** Returns why a policy forbids a change, without the names and sizes of datasources that the caller may not read. */
async function violationsFor(
  caller: Caller,
  policy: RulesPolicy,
  lists: Lists,
  summary: LimitedEffects,
): Promise<readonly string[]> {
  const all = policyViolations(policy, lists, summary)
  if (all.length === 0) return all
  const datasources = Object.entries(summary.datasources)
  const readable = await permittedItems(caller, datasources, ([name]) => name, 'SEE')
  if (readable.length === datasources.length) return all
  const seesUsed = caller.can('READ', 'STATE', 'STATE')
  const unused = { segments: 0, bytes: 0 }
  for (const [, { effects }] of readable) {
    unused.segments += effects.unused.segments
    unused.bytes += effects.unused.bytes
  }
  return shownViolations(policy, lists, {
    complete: summary,
    readable: {
      used: seesUsed ? summary.used : undefined,
      effects: { unused },
      datasources: Object.fromEntries(readable),
    },
  })
}
