import type { RequestListener } from 'node:http'
import { describeError } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import { type Listeners, listen, type Refusals } from '../http/index.ts'
import type { Metrics } from '../metrics/index.ts'
import type { AnnouncedNode } from '../postgres/index.ts'
import { exitWithMessage } from './configuration.ts'
import type { ServiceContext } from './context.ts'
import { refusedClientLog, refusedConnectionLog } from './refusal-logs.ts'

/** Opens the ports of a server. Exits with a message if that fails. */
export async function openPorts(
  { settings, stores, logger }: Pick<ServiceContext, 'settings' | 'stores' | 'logger'>,
  metrics: () => Pick<Metrics, 'count'>,
  handler: RequestListener,
  refusals: Refusals,
): Promise<Listeners> {
  const logRefused = refusedClientLog(logger)
  const logRefusedConnection = refusedConnectionLog(logger)
  try {
    return await listen(settings, handler, stores, {
      onRefusedClient: (refusal) => {
        refusals.addHandshake(refusal)
        logRefused(refusal)
      },
      onRefusedConnection: (refused) => {
        metrics().count('svc_connections_refused_total', { limit: refused.limit })
        logRefusedConnection(refused)
      },
    })
  } catch (error) {
    return exitWithMessage(describeError(error))
  }
}

/** Returns what a server announces about itself. */
export function describeNode(
  settings: Settings,
  listeners: Listeners,
  details: AnnouncedNode['details'],
): AnnouncedNode {
  const host = settings.get('svc.host')
  return {
    name: `${host}:${listeners.tlsPort ?? listeners.plaintextPort}`,
    role: settings.role,
    service: settings.get('svc.service'),
    host,
    plaintextPort: listeners.plaintextPort ?? null,
    tlsPort: listeners.tlsPort ?? null,
    details,
  }
}
