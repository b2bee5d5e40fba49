import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { baseUrlOf, type Election, type LeadershipChange, startElection } from '../discovery/index.ts'
import type { ServiceContext } from './context.ts'

/**
 * Makes this server a candidate for the leader of its role, under its announced address. It does not lead while other
 * servers cannot call it.
 */
export function standForElection(
  { coordination, settings, logger, node, readiness }: ServiceContext,
  change: LeadershipChange,
): Election {
  const candidate = {
    role: settings.role,
    holder: `${hostname()} ${randomUUID()}`,
    node: node().name,
    baseUrl: baseUrlOf(node()),
  }
  const leaseMs = settings.get('svc.leader.leasePeriod')
  return startElection(coordination, candidate, leaseMs, change, logger, readiness.isReachable)
}
