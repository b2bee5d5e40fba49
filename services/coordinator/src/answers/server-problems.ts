import type { UnavailableServer } from '@svc/domain/explanation'
import { loadMissingNodes, loadServerProblems } from '@svc/shared/postgres'
import { problemLifeMs, type ServiceContext } from '@svc/shared/service'
import * as z from 'zod'

/** The shape of the servers that cannot serve. */
export const serverProblemsShape = z
  .array(
    z.object({
      role: z.string(),
      server: z.string(),
      state: z
        .enum(['notReady', 'missing'])
        .describe(
          '`notReady` if the server reports a problem, `missing` if it stopped sending heartbeats without leaving the cluster',
        ),
      problem: z.string(),
    }),
  )
  .meta({ title: 'ServerProblems' })

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
