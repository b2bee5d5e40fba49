import type { X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import type { Server } from 'node:https'
import type { TLSSocket } from 'node:tls'
import type { Settings } from '../config/index.ts'

/** What a server asks of the certificates of its clients. */
export interface ClientCertificateRules {
  /** The client is asked for a certificate; one that does not hold is refused. */
  readonly requested: boolean
  /** A client without one is refused. */
  readonly required: boolean
  /** The certificate must be for the host that the connection comes from. */
  readonly validatesHosts: boolean
}

/** The rules that the configuration states. */
export function clientCertificateRules(settings: Settings): ClientCertificateRules {
  const required = settings.get('svc.server.https.requireClientCertificate')
  return {
    requested: required || settings.get('svc.server.https.requestClientCertificate'),
    required,
    validatesHosts: settings.get('svc.server.https.validateHostnames'),
  }
}

/** Lets through only connections whose certificate keeps the rules, before any of their bytes is read as HTTP. */
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
  if (!certificate) return required ? 'it shows no certificate' : undefined
  const name = subjectOf(certificate)
  if (!socket.authorized)
    return `its certificate [${name}] does not hold (${String(socket.authorizationError)})`
  const address = addressOf(socket)
  if (validatesHosts && !(await isFor(certificate, address)))
    return `its certificate [${name}] is not for the host [${address}] that it comes from`
  return undefined
}

/** The subject of the certificate that the other side of a connection has shown; null where it showed none. */
export function peerSubject(socket: TLSSocket): string | null {
  const certificate = socket.getPeerX509Certificate?.()
  return certificate ? subjectOf(certificate) : null
}

/** The subject of a certificate on one line, such as `CN=broker`. */
function subjectOf(certificate: X509Certificate): string {
  return certificate.subject?.replaceAll('\n', ', ') ?? ''
}

const addressOf = (socket: TLSSocket): string => (socket.remoteAddress ?? '').replace(/^::ffff:/, '')

/**
 * Whether a certificate is for the host with an address. Its names are looked up, not the address: whoever has an
 * address also decides to which name that points.
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
