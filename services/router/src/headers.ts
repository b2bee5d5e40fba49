import type { IncomingMessage } from 'node:http'
import { callerAddressHeader } from '@svc/shared/security'

// Headers about a single connection are not forwarded (RFC 9110 7.6.1). Host is set for the target.
const connectionHeaders = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
])

// Headers that only servers of the cluster may set, and the request id, which this server has checked and sets itself.
const replacedHeaders = new Set(['x-svc-from', 'x-request-id', callerAddressHeader])

/** Returns the headers to send to the target. Forwarding headers from the caller are not trusted, so they are removed. */
export function sentHeaders(request: IncomingMessage): string[] {
  const headers: string[] = []
  const named = namedByConnection(request.headers.connection)
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] as string
    const lower = name.toLowerCase()
    if (connectionHeaders.has(lower) || replacedHeaders.has(lower) || named.has(lower)) continue
    if (lower === 'forwarded' || lower.startsWith('x-forwarded-')) continue
    headers.push(name, request.rawHeaders[index + 1] as string)
  }
  headers.push('X-Forwarded-For', addressOfCaller(request))
  return headers
}

/** Returns the address of the caller, without the prefix of an IPv4 address on an IPv6 socket. */
export const addressOfCaller = (request: IncomingMessage): string =>
  (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')

// The usual Connection headers, which name no other header.
const namesNothing: ReadonlySet<string> = new Set(['keep-alive', 'close'])

function namedByConnection(header: string | undefined): ReadonlySet<string> {
  if (header === undefined || header === '' || header === 'keep-alive') return namesNothing
  return new Set(
    (header ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  )
}

/** Returns the response headers for the caller. */
export function keptHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {}
  const named = namedByConnection(headers.connection?.toString())
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !connectionHeaders.has(name) && !named.has(name)) kept[name] = value
  }
  return kept
}
