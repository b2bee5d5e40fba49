import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { systemClock } from '@svc/shared/runtime'
import { callerAddressHeader, createAddressSigner } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import type { Dispatcher } from 'undici'
import { addressOfCaller, sentHeaders } from './headers.ts'
import type { Target } from './role-of-path.ts'

/** Max time until the head of a response arrives, except for queries. */
export const headersTimeoutMs = 60_000

/** A request of a caller, where it goes, and the response to the caller. */
export interface Exchange {
  /** Identifies the caller among all callers. */
  readonly caller: string
  readonly target: Target
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Returns the request to send to a target, after the delay of injected faults. Rejects if such a fault cuts the call. */
export type BuildRequest = (
  origin: string,
  exchange: Exchange,
  body: Buffer | Readable | null,
) => Promise<Dispatcher.DispatchOptions & { readonly origin: string }>

/** Returns the function that builds requests, with the caller's own credentials and its signed address. */
export function requestBuilder({
  settings,
  escalator,
  faults,
}: Pick<ServiceContext, 'settings' | 'escalator' | 'faults'>): BuildRequest {
  const signAddress = createAddressSigner(escalator, systemClock.now)
  const queryTimeoutMs = settings.get('svc.query.maxTimeout') + headersTimeoutMs
  return async (origin, { target: { role, path }, request, response }, body) => {
    await faults.applyToCall(origin, path.split('?', 1)[0] as string)
    const method = request.method as Dispatcher.HttpMethod
    const { authorization } = request.headers
    const address = signAddress(origin, { method, path, authorization }, addressOfCaller(request))
    return {
      origin,
      path,
      method,
      headers: [
        ...sentHeaders(request),
        'X-Request-Id',
        String(response.getHeader('x-request-id')),
        ...(address === undefined ? [] : [callerAddressHeader, address]),
      ],
      body,
      // The response to a query starts with its first row. A broker that is alive enforces the query timeout itself.
      ...(role === 'broker' && method === 'POST' ? { headersTimeout: queryTimeoutMs } : {}),
    }
  }
}
