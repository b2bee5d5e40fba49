import type { CallGroup } from '@svc/domain/calls'
import { sumOf } from '../sum-of.ts'

/** Equal requests between servers of two roles. */
export interface CallRow {
  readonly key: string
  readonly from: CallSide
  readonly to: CallSide
  readonly identity: string
  readonly request: string
  readonly isEncrypted: boolean
  readonly calls: number
  readonly failures: number
  readonly lastTime: string
  /** Why the last of them failed; undefined if it did not. */
  readonly lastFailure: string | undefined
}

/** The servers of a role on one side of calls. */
export interface CallSide {
  /** Empty for callers that are not servers of the cluster. */
  readonly role: string
  readonly names: readonly string[]
}

/** Returns one row for equal requests between servers of the same roles, so that a thousand historicals need one row. */
export function callRows(groups: readonly CallGroup[]): CallRow[] {
  const byKey = Map.groupBy(groups, ({ from, to, method, path, identity, tls }) =>
    [from.role, to.role, path, method, identity, tls].join(' '),
  )
  return [...byKey].map(([key, list]) => {
    const [{ from, to, method, path, identity, tls }] = list as [CallGroup]
    const last = list.reduce((latest, one) => (one.lastTime > latest.lastTime ? one : latest))
    const isFailed = last.lastStatus === null || last.lastStatus >= 400
    return {
      key,
      from: { role: from.role, names: namesOf(list.map((one) => one.from.name)) },
      to: { role: to.role, names: namesOf(list.map((one) => one.to.name)) },
      identity,
      request: `${method} ${path}`,
      isEncrypted: tls,
      calls: sumOf(list, (one) => one.calls),
      failures: sumOf(list, (one) => one.failures),
      lastTime: last.lastTime,
      lastFailure: isFailed ? (last.lastError ?? `status ${last.lastStatus}`) : undefined,
    }
  })
}

const namesOf = (names: readonly string[]): string[] => [...new Set(names)].sort()
