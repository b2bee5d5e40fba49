import type { LoginFailure, RefusedHandshake } from '@svc/domain/access'
import type { RefusedConnection } from '../http/index.ts'
import { createProblemLog, type Logger } from '../runtime/index.ts'
import type { LoginOrigin } from '../security/index.ts'

/**
 * Logs clients that were rejected because of their certificates; repeats the same rejection only at growing intervals.
 */
export function refusedClientLog(logger: Logger) {
  const logs = new Map<string, ReturnType<typeof createProblemLog>>()
  return ({ id, address, reason }: RefusedHandshake): void => {
    if (logs.size > 1000) logs.clear()
    const problemLog = logs.get(address) ?? createProblemLog(logger)
    logs.set(address, problemLog)
    problemLog.report(`Rejected client at [${address}]: ${reason}`, { handshakeId: id })
  }
}

/** Logs connections that were closed because too many were open, each limit at growing intervals. */
export function refusedConnectionLog(logger: Logger) {
  const logs = { address: createProblemLog(logger), total: createProblemLog(logger) }
  const texts = {
    address: 'Closed a new connection: its address has reached [svc.server.http.maxConnectionsPerAddress]',
    total: 'Closed a new connection: this server has reached [svc.server.http.maxConnections]',
  }
  return ({ address, limit }: RefusedConnection): void => logs[limit].report(texts[limit], { address })
}

// More servers than any cluster has.
const maxRefusedServers = 1000

/** Logs rejected logins, those of servers by name; repeats the same rejection only at growing intervals. */
export function refusedLoginLog(logger: Logger, internalUser: string) {
  const logs = new Map<string, ReturnType<typeof createProblemLog>>()
  return (user: string, origin: LoginOrigin, { reason }: LoginFailure): void => {
    const { address } = origin
    // Anyone may claim to be a server: log the name only for the internal user, and only for a limited number of names.
    const isServer = origin.server !== '' && user === internalUser
    const isKnown = logs.has(origin.server) || logs.size < maxRefusedServers
    const server = isServer && isKnown ? origin.server : ''
    const problemLog = logs.get(server) ?? createProblemLog(logger)
    logs.set(server, problemLog)
    const cause =
      reason === 'FORBIDDEN_NETWORK'
        ? '[svc.auth.internalClientAllowedNetworks] on this server does not include that address'
        : `invalid escalator user [${user}] or password; correct [svc.escalator.internalClientPassword] on that server`
    problemLog.report(
      server === '' ? 'Rejected login' : `Rejected server [${server}] at [${address}]: ${cause}`,
      {
        user,
        address,
        ...(server === '' ? {} : { from: server }),
      },
    )
  }
}
