import { isIP } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import type { DescribedCertificate } from '@svc/domain/access'
import { describeError } from '@svc/domain/failure'
import { describeCertificate } from './describe-certificate.ts'
import type { ClientTls } from './tls-stores.ts'

/** What a server presents to its callers. */
export interface PresentedCertificate {
  /** Null if the server cannot be reached. */
  readonly certificate: DescribedCertificate | null
  /** Why a caller with these stores would reject it, such as `CERT_HAS_EXPIRED`, or cannot reach the server; null if it would not. */
  readonly problem: string | null
}

const timeoutMs = 3000

/**
 * Connects to a server only to see its certificate, so that invalid certificates are returned, too. `client` are the stores
 * that decide whether it is valid.
 */
export async function presentedCertificate(
  host: string,
  port: number,
  client: ClientTls,
): Promise<PresentedCertificate> {
  return await new Promise((resolve) => {
    const servername = isIP(host) === 0 ? host : ''
    const socket = connect({
      ...client,
      host,
      port,
      servername,
      rejectUnauthorized: false,
      timeout: timeoutMs,
    })
    const end = (presented: PresentedCertificate): void => {
      resolve(presented)
      socket.destroy()
    }
    socket.once('secureConnect', () => end(presentedTo(socket)))
    socket.once('timeout', () => end({ certificate: null, problem: `no response within [${timeoutMs}] ms` }))
    socket.once('error', (error) => end({ certificate: null, problem: describeError(error) }))
  })
}

function presentedTo(socket: TLSSocket): PresentedCertificate {
  const certificate = socket.getPeerX509Certificate()
  const error = socket.authorizationError as string | Error | null | undefined
  return {
    certificate: certificate === undefined ? null : describeCertificate(certificate),
    problem: error ? String(error instanceof Error ? error.message : error) : null,
  }
}
