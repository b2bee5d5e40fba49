import { describeError, Failure, unavailable } from '@svc/domain/failure'
import type { ServiceContext } from '@svc/shared/service'
import { errors } from 'undici'
import type { Agents } from './agents.ts'
import type { TakeConnection } from './connection-shares.ts'
import type { ForwardedBody } from './forwarded-body.ts'
import { keptHeaders } from './headers.ts'
import { type Relayed, relay } from './relay.ts'
import type { BuildRequest, Exchange } from './sent-request.ts'
import type { TargetAddresses } from './target-addresses.ts'

/** What sending a request needs. */
export interface Sending {
  readonly agents: Agents
  readonly addresses: TargetAddresses
  readonly takeConnection: TakeConnection
  readonly build: BuildRequest
  readonly logger: ServiceContext['logger']
}

/**
 * Sends the request to a leader or a broker. If that server has lost leadership and redirects the request, follows the
 * new leader here, so that the caller need not.
 */
export async function forwardToLeaderOrBroker(
  sending: Sending,
  exchange: Exchange,
  body: ForwardedBody,
): Promise<void> {
  if ((await reach(sending, exchange, body)) === 'answered') return
  await sending.addresses.refresh()
  if (body.isRepeatable && (await reach(sending, exchange, body)) === 'answered') return
  throw unavailable(`The ${exchange.target.role} leader has just changed; send the request again`)
}

/** Sends the request. If the connection fails, sends it once more to the current leader. */
async function reach(sending: Sending, exchange: Exchange, body: ForwardedBody): Promise<Relayed> {
  const { addresses } = sending
  const { role } = exchange.target
  const first = await addresses.find(role)
  try {
    return await send(sending, first, exchange, body)
  } catch (error) {
    if (exchange.response.destroyed) throw unavailable('The caller disconnected')
    if (error instanceof Failure) throw error
    // Without a connection, the server has received nothing, so any request can be sent again.
    if (neverConnected(error)) {
      const second = await addresses.findAgain(role)
      if (second !== first) return await send(sending, second, exchange, body)
    }
    throw unavailable(`The ${role} at [${first}] cannot be reached: ${describeError(error)}`, {
      server: first,
    })
  }
}

async function send(
  { agents, addresses, takeConnection, build, logger }: Sending,
  origin: string,
  exchange: Exchange,
  body: ForwardedBody,
): Promise<Relayed> {
  const release = await takeConnection(origin, exchange)
  try {
    const sent = await build(origin, exchange, body.content())
    return await relay(agents.current(), sent, exchange.response, keptHeaders, {
      isLost: exchange.target.role === 'broker' ? addresses.watchBroker(origin) : undefined,
      onAborted: (error) => logger.debug('A response was cut off', { error: describeError(error) }),
    })
  } finally {
    release()
  }
}

/** Whether a request failed before it was connected: refused, no route to the host, or an unknown host name. */
function neverConnected(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true
  // If a host name has several addresses, the error contains the errors of all of them.
  const { syscall } = (error instanceof AggregateError ? error.errors[0] : error) as NodeJS.ErrnoException
  return syscall === 'connect' || syscall === 'getaddrinfo'
}
