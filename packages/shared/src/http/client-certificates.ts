import type { X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import type { Server } from 'node:https'
import type { TLSSocket } from 'node:tls'
import type { Settings } from '../config/index.ts'

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

/** Closes connections whose certificate violates the rules, before any of their bytes are read as HTTP. */
export function refuseBadClients(
  server: Server,
  rules: ClientCertificateRules,
  onRefused: (address: string, reason: string) => void,
): void {
  const listeners = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[]
  server.removeAllListeners('secureConnection')
  server.on('secureConnection', async (socket: TLSSocket) => {
    const reason = await refusalReason(socket, rules)
    if (reason === undefined) {
      if (!socket.destroyed) for (const listener of listeners) listener.call(server, socket)
      return
    }
    onRefused(addressOf(socket), reason)
    socket.destroy()
  })
}

async function refusalReason(
  socket: TLSSocket,
  { required, validatesHosts }: ClientCertificateRules,
): Promise<string | undefined> {
  const certificate = socket.getPeerX509Certificate()
  if (!certificate) return required ? 'no client certificate' : undefined
  const name = subjectOf(certificate)
  if (!socket.authorized) return `invalid certificate [${name}] (${String(socket.authorizationError)})`
  const address = addressOf(socket)
  if (validatesHosts && !(await isFor(certificate, address)))
    return `certificate [${name}] is not valid for the host [${address}] of the client`
  return undefined
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

const addressOf = (socket: TLSSocket): string => (socket.remoteAddress ?? '').replace(/^::ffff:/, '')

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
