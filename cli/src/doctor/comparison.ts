import { type AccessChange, accessChangesTexts, compareAccess } from './compare-access.ts'
import type { Endpoint } from './decide-access.ts'
import type { Examination } from './examination.ts'
import type { KnownUsers } from './known-users.ts'
import {
  findLockouts,
  findRecoveries,
  type Lockout,
  lockoutTexts,
  type Recovery,
  recoveryTexts,
} from './lockouts.ts'
import { redactionOf } from './redact.ts'

/** What a change of a configuration does to users. */
export interface Comparison {
  /** Who can no longer use the cluster. */
  readonly lockouts: readonly Lockout[]
  /** Who could not use the cluster before, and is no longer locked out. */
  readonly recoveries: readonly Recovery[]
  /** The endpoints at which the access of users changes, which includes lockouts by the authenticator chain. */
  readonly changes: readonly AccessChange[]
}

/** Compares two configurations. `known` are the users and roles of both. */
export function compareConfigurations(
  before: Examination,
  after: Examination,
  known: KnownUsers,
  endpoints: readonly Endpoint[],
): Comparison {
  const redact = redactionOf(before.configuration, after.configuration)
  const redacted = <Entry extends Recovery>(one: Entry): Entry => ({
    ...one,
    subject: redact(one.subject),
    reason: redact(one.reason),
  })
  return {
    lockouts: findLockouts(before, after, known, endpoints).map(redacted),
    recoveries: findRecoveries(before, after).map(redacted),
    changes: compareAccess(before.configuration, after.configuration, known, endpoints).map((one) => ({
      ...one,
      subject: redact(one.subject),
    })),
  }
}

/** A comparison as text: lockouts first, one paragraph each. */
export function comparisonText({ lockouts, recoveries, changes }: Comparison, serverCount: number): string {
  const paragraphs = [
    ...lockoutTexts(lockouts, serverCount),
    ...recoveryTexts(recoveries, serverCount),
    ...accessChangesTexts(changes),
  ]
  return paragraphs.length === 0 ? 'No user gains or loses access.\n' : `${paragraphs.join('\n\n')}\n`
}
