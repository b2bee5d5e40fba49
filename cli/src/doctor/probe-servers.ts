import { isIP } from 'node:net'
import { checkServerIdentity, connect, type TLSSocket } from 'node:tls'
import { type Configuration, flagOf, type Server, textOf } from './configuration.ts'
import type { Facts } from './facts.ts'
import type { LocationMap } from './location-map.ts'
import { hostOf, type ServedTls } from './served-tls.ts'
import { servesTls, storeUses, usedKey } from './stores.ts'

const timeoutMs = 3000

/** Connects once to the TLS port of each server, as the other servers do, and sends nothing. */
export async function probeServers(
  { servers }: Configuration,
  locations: LocationMap,
  storeOf: Facts['storeOf'],
): Promise<Facts['tlsOf']> {
  const results = await Promise.all(
    servers.map(async (server) => [server, await probe(server, locations, storeOf)] as const),
  )
  const byServer = new Map(results)
  return (server) => byServer.get(server)
}

/** Returns undefined if the address is not known, or if there is no key store or trust store to compare with. */
async function probe(
  server: Server,
  locations: LocationMap,
  storeOf: Facts['storeOf'],
): Promise<ServedTls | undefined> {
  const [host, port] = [hostOf(server), Number(textOf(server, 'druid.tlsPort'))]
  const uses = storeUses(server)
  const key = uses.find(({ property }) => property === 'druid.server.https.keyStorePath')
  const trust = uses.find(({ property }) => property === 'druid.client.https.trustStorePath')
  const trusted = trust && storeOf(trust)
  const hasKey = key !== undefined && usedKey(storeOf(key), key.alias) !== undefined
  if (!servesTls(server) || host === undefined || !(port > 0) || !hasKey || trusted?.kind !== 'open')
    return undefined
  const validatesHost = flagOf(server, 'druid.client.https.validateHostnames', true)
  const socket = connect({
    ...locations.addressOf(host, port),
    // TLS does not allow addresses as server names. The certificate must be for the address all the same.
    servername: isIP(host) === 0 ? host : '',
    ca: trusted.trusted.map(String),
    // The certificate is looked at in any case; nothing is sent.
    rejectUnauthorized: false,
    checkServerIdentity: (_host, certificate) =>
      validatesHost ? checkServerIdentity(host, certificate) : undefined,
  })
  return await new Promise<ServedTls>((resolve) => {
    socket.setTimeout(timeoutMs, () => resolve({ kind: 'silent' }))
    socket.once('secureConnect', () => resolve(describe(socket)))
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(failure(error)))
  }).finally(() => socket.destroy())
}

/** A connection that was never established says nothing about TLS. */
const failure = ({ code = 'unknown', syscall }: NodeJS.ErrnoException): ServedTls =>
  syscall === 'connect' || syscall === 'getaddrinfo' ? { kind: 'silent' } : { kind: 'failed', error: code }

const describe = (socket: TLSSocket): ServedTls => ({
  kind: 'connected',
  fingerprint: socket.getPeerCertificate().fingerprint256,
  refusedBecause: socket.authorized ? undefined : String(socket.authorizationError),
})
