import { unavailable } from '@svc/domain/failure'
import * as real from '@svc/shared/postgres'
import { statement } from './database.ts'
import type { StoreView } from './store.ts'

const machineOf = (holder: string): string => holder.split(' ', 1)[0]!

export const acquireLease: typeof real.acquireLease = (queries, { role, holder, node, baseUrl }, leaseMs) =>
  statement(queries, (view) => {
    const { leases } = view.tables
    const lease = view.claim(leases, role)
    const isOfFormer =
      lease?.node === node && lease.holder !== holder && machineOf(lease.holder) === machineOf(holder)
    if (lease !== undefined && lease.expiresAt >= view.now && !isOfFormer)
      return { term: undefined, expiresInMs: lease.expiresAt - view.now }
    const term = (lease?.term ?? 0) + 1
    view.put(leases, role, { role, holder, node, baseUrl, term, expiresAt: view.now + leaseMs })
    return { term, expiresInMs: 0 }
  })

export const renewLease: typeof real.renewLease = (queries, { role, holder }, term, leaseMs) =>
  statement(queries, (view) => {
    const lease = view.get(view.tables.leases, role)
    if (lease?.holder !== holder || lease.term !== term) return false
    view.put(view.tables.leases, role, { ...lease, expiresAt: view.now + leaseMs })
    return true
  })

export const releaseLease: typeof real.releaseLease = (queries, { role, holder }) =>
  statement(queries, (view) => {
    const lease = view.get(view.tables.leases, role)
    if (lease?.holder !== holder) return
    view.put(view.tables.leases, role, { ...lease, expiresAt: Number.NEGATIVE_INFINITY })
    view.notify(real.leasesChannel, role)
  })

export const loadLeases: typeof real.loadLeases = (queries, soonMs = 0) =>
  statement(queries, (view) => validLeases(view, soonMs))

/** Returns the leases that are valid. */
export const validLeases = (view: StoreView, soonMs: number): real.ValidLease[] =>
  view
    .rows(view.tables.leases)
    .filter(({ expiresAt }) => expiresAt > view.now)
    .map(({ role, node, baseUrl, term, expiresAt }) => ({
      ...{ role, node, baseUrl, term },
      expiresSoon: expiresAt <= view.now + soonMs,
    }))

export const assertLeads: typeof real.assertLeads = async (transaction, role, term) => {
  const leads = await statement(transaction, (view) => {
    const { leases } = view.tables
    if (view.get(leases, role)?.term !== term) return false
    view.share(leases, role)
    return true
  })
  if (!leads)
    throw unavailable(`This server is no longer the [${role}] leader: another server has taken over`)
}
