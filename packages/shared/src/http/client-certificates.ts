import { randomUUID, type X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { DescribedCertificate, RefusedHandshake } from '@svc/domain/access'
import type { Settings } from '../config/index.ts'
import { describeCertificate } from '../tls/index.ts'

/** What a server requires of client certificates. */
export interface ClientCertificateRules {
  /** Request a certificate from clients, and reject invalid ones. */
  readonly requested: boolean
  /** Reject clients without a certificate. */
  readonly required: boolean
  /** Require that the certificate is valid for the host that the client connects from. */
  readonly validatesHosts: boolean
}

/** Returns the rules from the configuration. */
export function clientCertificateRules(settings: Settings): ClientCertificateRules {
  const required = settings.get('svc.server.https.requireClientCertificate')
  return {
    requested: required || settings.get('svc.server.https.requestClientCertificate'),
    required,
    validatesHosts: settings.get('svc.server.https.validateHostnames'),
  }
}

/** Called for a TLS handshake that was refused or failed. */
export type OnRefusedHandshake = (refusal: RefusedHandshake) => void

/** Closes connections whose certificate violates the rules, before any of their bytes are read as HTTP. */
export function refuseBadClients(
  server: Server,
  rules: ClientCertificateRules,
  onRefused: OnRefusedHandshake,
): void {
  const listeners = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[]
  server.removeAllListeners('secureConnection')
  server.on('secureConnection', async (socket: TLSSocket) => {
    const problem = await problemOf(socket, rules)
    if (problem === undefined) {
      if (!socket.destroyed) for (const listener of listeners) listener.call(server, socket)
      return
    }
    const certificate = socket.getPeerX509Certificate()
    onRefused(refusalOf(socket, problem, certificate ? describeCertificate(certificate) : null))
    socket.destroy()
  })
}

/**
 * Reports handshakes that failed before a certificate was checked, for example because of the protocol. With TLS 1.3, a
 * client may reject the certificate of the server only after the handshake, so this is not an event of the handshake.
 */
export function reportFailedHandshakes(server: Server, onRefused: OnRefusedHandshake): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { message } = error
    // Newer OpenSSL versions write SSL/TLS instead of SSLV3 in some codes.
    const code = (error.code ?? '').replace('SSL/TLS', 'SSLV3')
    if (!code.startsWith('ERR_SSL_') && code !== 'ERR_TLS_HANDSHAKE_TIMEOUT') return
    const text = failedHandshakes[code] ?? message
    onRefused(refusalOf(socket as TLSSocket, { code, reason: `TLS handshake failed: ${text}` }, null))
  })
}

const failedHandshakes: Readonly<Record<string, string>> = {
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'the client offers no TLS protocol that this server allows',
  ERR_SSL_NO_SHARED_CIPHER: 'the client and this server have no cipher in common',
  ERR_SSL_HTTP_REQUEST: 'the client sent plain HTTP to the TLS port',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA:
    "the client does not trust the authority that issued this server's certificate",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: "the client rejected this server's certificate",
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: "the client rejected this server's certificate",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: "this server's certificate has expired",
  ERR_TLS_HANDSHAKE_TIMEOUT: 'the client did not complete the handshake in time',
}

interface HandshakeProblem {
  readonly code: string
  readonly reason: string
}

const refusalOf = (
  socket: TLSSocket,
  { code, reason }: HandshakeProblem,
  certificate: DescribedCertificate | null,
): RefusedHandshake => ({
  id: randomUUID(),
  time: new Date().toISOString(),
  address: peerAddress(socket),
  code,
  reason,
  certificate,
})

async function problemOf(
  socket: TLSSocket,
  { required, validatesHosts }: ClientCertificateRules,
): Promise<HandshakeProblem | undefined> {
  const certificate = socket.getPeerX509Certificate()
  if (!certificate) return required ? { code: 'NO_CERTIFICATE', reason: 'no client certificate' } : undefined
  const name = subjectOf(certificate)
  if (!socket.authorized) {
    const code = String(socket.authorizationError)
    return { code, reason: `invalid certificate [${name}] (${code})` }
  }
  const address = peerAddress(socket)
  if (!validatesHosts || (await isFor(certificate, address))) return undefined
  return {
    code: 'WRONG_HOST',
    reason: `certificate [${name}] is not valid for the client's host [${address}]`,
  }
}

/** Returns the subject of the certificate of the peer; null if it has none. */
export function peerSubject(socket: TLSSocket): string | null {
  const certificate = socket.getPeerX509Certificate?.()
  return certificate ? subjectOf(certificate) : null
}

/** Returns the subject of a certificate on one line, such as `CN=broker`. */
function subjectOf(certificate: X509Certificate): string {
  return certificate.subject?.replaceAll('\n', ', ') ?? ''
}

/** Returns the address of a peer, without the prefix of an IPv4 address on an IPv6 socket. */
export const peerAddress = ({ remoteAddress }: Pick<Socket, 'remoteAddress'>): string =>
  (remoteAddress ?? '').replace(/^::ffff:/, '')

/**
 * Returns whether a certificate is valid for the host with an address. Resolves the names in the certificate instead of
 * the address, because the owner of an address controls its reverse DNS entry.
 */
async function isFor(certificate: X509Certificate, address: string): Promise<boolean> {
  if (certificate.checkIP(address) !== undefined) return true
  const names = (certificate.subjectAltName ?? '')
    .split(', ')
    .filter((name) => name.startsWith('DNS:'))
    .map((name) => name.slice('DNS:'.length))
  const found = await Promise.all(names.map((name) => lookup(name, { all: true }).catch(() => [])))
  return found.flat().some((one) => one.address === address)
}
