import { describeError, type Failure, type FailureContext } from '@svc/domain/failure'

/** The context of a failure because the cluster is stopped, is starting, or is not known yet. */
export const notReady: FailureContext = { clusterState: 'notKnown' }

const neverConnects = 'neverConnects'

/**
 * The context of a failed connection: a server that does not listen is stopped, or has not started yet; an unknown host, or
 * a server without a trusted certificate, stays as it is.
 */
export function connectionContext(error: unknown): FailureContext {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return notReady
  return code === 'ENOTFOUND' || isUntrusted(error) || isWithoutTls(error) ? { [neverConnects]: 'true' } : {}
}

/** Whether a failed connection fails again, however long a command waits. */
export function isPermanent({ context }: Failure): boolean {
  return Object.hasOwn(context, neverConnects)
}

const isUntrusted = (error: unknown): boolean =>
  /certificate|self.signed|issuer/i.test((error as Error).message)

const isWithoutTls = (error: unknown): boolean =>
  /wrong version number|packet length too long/.test(describeError(error))

/** What went wrong with a connection: OpenSSL's own messages are code locations, so they are replaced or shortened. */
export function describeConnectionError(error: unknown): string {
  const { code = '', reason, hostname } = error as { code?: string; reason?: string; hostname?: string }
  const message = describeError(error)
  if (code === 'ENOTFOUND') return `unknown host [${hostname}]`
  if (isWithoutTls(error)) return 'the server does not use TLS on this port; use http:// or the TLS port'
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return `TLS handshake failed: ${reason ?? /SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] ?? code}`
  return message
}

/** What to do about a failed connection, as a sentence to append; empty if there is nothing to suggest. */
export function hintFor(error: unknown, url: string): string {
  const { code } = error as NodeJS.ErrnoException
  if (isUntrusted(error)) return '. Use --trust to specify the CA certificates to trust.'
  // A server with TLS closes a plain connection.
  return url.startsWith('http:') && code === 'ECONNRESET' ? '. If the port uses TLS, use https://.' : ''
}
