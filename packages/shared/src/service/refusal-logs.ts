import type { RefusedConnection, RefusedHandshake } from '../http/index.ts'
import { createTroubleLog, type Logger } from '../runtime/index.ts'
import type { LoginOrigin, RefusalReason } from '../security/index.ts'

/**
 * Logs clients that were rejected because of their certificates; repeats the same rejection only at growing intervals.
 */
export function refusedClientLog(logger: Logger) {
  const troubles = new Map<string, ReturnType<typeof createTroubleLog>>()
  return ({ id, address, reason }: RefusedHandshake): void => {
    if (troubles.size > 1000) troubles.clear()
    const trouble = troubles.get(address) ?? createTroubleLog(logger)
    troubles.set(address, trouble)
    trouble.report(`Rejected client at [${address}]: ${reason}`, { handshakeId: id })
  }
}

/** Logs connections that were closed because too many were open, each limit at growing intervals. */
export function refusedConnectionLog(logger: Logger) {
  const troubles = { address: createTroubleLog(logger), total: createTroubleLog(logger) }
  const texts = {
    address: 'Closed a new connection: its address has as many as [svc.server.http.maxConnectionsPerAddress]',
    total: 'Closed a new connection: this server has as many as [svc.server.http.maxConnections]',
  }
  return ({ address, limit }: RefusedConnection): void => troubles[limit].report(texts[limit], { address })
}

// More servers than any cluster has.
const maxRefusedServers = 1000

/** Logs rejected logins, those of servers by name; repeats the same rejection only at growing intervals. */
export function refusedLoginLog(logger: Logger, internalUser: string) {
  const troubles = new Map<string, ReturnType<typeof createTroubleLog>>()
  return (user: string, origin: LoginOrigin, reason: RefusalReason): void => {
    const { address } = origin
    // Anyone may claim to be a server: log the name only for the internal user, and only for a limited number of names.
    const isServer = origin.server !== '' && user === internalUser
    const isKnown = troubles.has(origin.server) || troubles.size < maxRefusedServers
    const server = isServer && isKnown ? origin.server : ''
    const trouble = troubles.get(server) ?? createTroubleLog(logger)
    troubles.set(server, trouble)
    const cause =
      reason === 'network'
        ? '[svc.auth.internalClientAllowedNetworks] on this server does not include that address'
        : `invalid escalator user [${user}] or password; correct [svc.escalator.internalClientPassword] on that server`
    trouble.report(
      server === '' ? 'Rejected login' : `Rejected server [${server}] at [${address}]: ${cause}`,
      {
        user,
        address,
        ...(server === '' ? {} : { from: server }),
      },
    )
  }
}
