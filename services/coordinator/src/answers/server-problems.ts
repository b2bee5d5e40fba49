import type { UnavailableServer } from '@svc/domain/explanation'
import { loadMissingNodes, loadServerProblems } from '@svc/shared/postgres'
import { problemLifeMs, type ServiceContext } from '@svc/shared/service'

/** Returns the servers that cannot serve: those that report why, and those that stopped responding. */
export async function loadUnavailableServers({
  database,
  settings,
}: Pick<ServiceContext, 'database' | 'settings'>): Promise<UnavailableServer[]> {
  const [reported, missing] = await Promise.all([
    loadServerProblems(database, problemLifeMs),
    loadMissingNodes(database, settings.get('svc.discovery.timeout')),
  ])
  return [
    ...reported.map(({ role, name, problem }) => ({
      role,
      server: name,
      state: 'notReady' as const,
      problem,
    })),
    ...missing.map(({ role, name, silentMs }) => ({
      role,
      server: name,
      state: 'missing' as const,
      problem: `No heartbeat for ${Math.round(silentMs / 1000)} s`,
    })),
  ]
}
