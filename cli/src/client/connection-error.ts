import { describeError, type FailureContext } from '@svc/domain/failure'

/** The context of a failure because the cluster is stopped, is starting, or is not known yet. */
export const notReady: FailureContext = { clusterState: 'notKnown' }

/** The context of a failed connection: a server that does not listen is stopped, or has not started yet. */
export function connectionContext(error: unknown): FailureContext {
  return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? notReady : {}
}

/** What went wrong with a connection: OpenSSL's own messages are code locations, so they are replaced or shortened. */
export function describeConnectionError(error: unknown): string {
  const { code = '', reason } = error as { code?: string; reason?: string }
  const message = describeError(error)
  if (/wrong version number|packet length too long/.test(message))
    return 'the server does not use TLS on this port; use http:// or the TLS port'
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return `TLS handshake failed: ${reason ?? /SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] ?? code}`
  return message
}

/** What to do about a failed connection, as a sentence to append; empty if there is nothing to suggest. */
export function hintFor(error: unknown, url: string): string {
  const { message, code } = error as NodeJS.ErrnoException
  if (/certificate|self.signed|issuer/i.test(message))
    return '. Use --trust to specify the CA certificates to trust.'
  // A server with TLS closes a plain connection.
  return url.startsWith('http:') && code === 'ECONNRESET' ? '. If the port uses TLS, use https://.' : ''
}
