import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { countOf } from '@svc/domain/text'
import { flagOf, placeOf, type Server } from '../configuration.ts'
import { clientExtension, loadedExtensions } from '../druid-extensions.ts'
import type { Check, CheckInput, Hit } from '../findings.ts'
import { hostOf } from '../served-tls.ts'
import {
  lockedOutBy,
  type OwnedStoreUse,
  servedChain,
  servesTls,
  storeUses,
  trustIn,
  usedKey,
} from '../stores.ts'
import { failsBetweenServers, refusesLikeDruid } from '../up-effects.ts'
import { javaTrustStoreNoteOfServers } from './java-trust-store.ts'

const dayMs = 24 * 60 * 60 * 1000
/** Certificates that expire sooner are reported. */
const soonDays = 30

/** A certificate that a server presents or trusts. */
interface UsedCertificate {
  readonly use: OwnedStoreUse
  readonly certificate: X509Certificate
}

/** Returns the certificates of keys with their issuers, and trusted ones. */
function certificatesOf(server: Server, { facts }: CheckInput): UsedCertificate[] {
  return storeUses(server).flatMap((use) => {
    const content = facts.storeOf(use)
    if (content?.kind !== 'open') return []
    const certificates = use.kind === 'key' ? (usedKey(content, use.alias)?.chain ?? []) : content.trusted
    return certificates.map((certificate) => ({ use, certificate }))
  })
}

const ends = ({ validToDate }: X509Certificate): number => validToDate.getTime()

const subjectOf = ({ subject }: X509Certificate): string =>
  (subject ?? '').split('\n').toReversed().join(', ')

const dateCheck = (
  code: string,
  severity: Check['severity'],
  describe: (
    certificate: X509Certificate,
    now: number,
  ) => Pick<Hit, 'problem' | 'effect' | 'fix'> | undefined,
): Check => ({
  code,
  severity,
  find: (server, input) =>
    certificatesOf(server, input).flatMap(({ use, certificate }) => {
      const found = describe(certificate, input.now)
      if (!found) return []
      const problem = `The certificate [${subjectOf(certificate)}] in [${use.path}] ${found.problem}`
      const isOwn =
        use.kind === 'key' && usedKey(input.facts.storeOf(use), use.alias)?.chain[0] === certificate
      return [
        {
          ...found,
          at: placeOf(server, use.property),
          problem,
          ...(isOwn || severity !== 'error' ? {} : { up: failsBetweenServers }),
          ...(severity === 'error' ? { locksOut: lockedOutBy(use) } : {}),
        },
      ]
    }),
})

const failsConnections = 'Every TLS connection that uses the certificate fails.'

/** Checks of certificates: dates, host names, and whether other servers accept them. */
export const certificateChecks: readonly Check[] = [
  dateCheck('certificate-expired', 'error', (certificate, now) =>
    ends(certificate) < now
      ? {
          problem: `expired on [${certificate.validTo}]`,
          effect: failsConnections,
          fix: 'Replace the certificate with a new one.',
        }
      : undefined,
  ),
  dateCheck('certificate-not-yet-valid', 'error', (certificate, now) =>
    certificate.validFromDate.getTime() > now
      ? {
          problem: `is not valid before [${certificate.validFrom}]`,
          effect: failsConnections,
          fix: 'Use a certificate that is already valid, and check the clock of this machine.',
        }
      : undefined,
  ),
  dateCheck('certificate-expires-soon', 'warning', (certificate, now) =>
    ends(certificate) >= now && ends(certificate) - now < soonDays * dayMs
      ? {
          problem: `expires on [${certificate.validTo}], in ${countOf(Math.floor((ends(certificate) - now) / dayMs), 'day')}`,
          effect: 'Once the certificate expires, every TLS connection that uses it fails.',
          fix: 'Renew the certificate before it expires.',
        }
      : undefined,
  ),
  { code: 'host-not-in-certificate', severity: 'error', locksOut: 'the servers', find: wrongHost },
  {
    code: 'certificate-untrusted',
    severity: 'error',
    locksOut: 'the servers',
    find: (server, input) => refusedBy(server, input, 'untrusted'),
  },
  {
    code: 'chain-incomplete',
    severity: 'error',
    locksOut: 'the servers',
    find: (server, input) => refusedBy(server, input, 'incomplete'),
  },
  {
    code: 'host-not-validated',
    severity: 'warning',
    find: (server) =>
      flagOf(server, 'druid.client.https.validateHostnames', true)
        ? []
        : [
            {
              at: placeOf(server, 'druid.client.https.validateHostnames'),
              problem: '[druid.client.https.validateHostnames] is [false]',
              effect:
                'Anyone with a certificate from the same authority can pose as another server and receive the escalator password.',
              fix: 'Remove the property, and issue certificates for the names in [druid.host].',
            },
          ],
  },
]

/** Other servers call a server by its `druid.host`. */
function wrongHost(server: Server, input: CheckInput): Hit[] {
  const host = hostOf(server)
  const served = servedChain(server, input.facts.storeOf)
  if (host === undefined || !served || !flagOf(server, 'druid.client.https.validateHostnames', true))
    return []
  const { certificate, use } = served
  if ((isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined) return []
  return [
    {
      at: placeOf(server, 'druid.host'),
      problem: `[druid.host] is [${host}], but the certificate in [${use.path}] is for [${certificate.subjectAltName ?? subjectOf(certificate)}]`,
      effect: `Other servers and clients that call [${host}] reject the certificate.`,
      fix: `Issue a certificate for [${host}], or set [druid.host] to a name in the certificate.`,
    },
  ]
}

/** Compares what a server presents with what the servers that call it trust. */
function refusedBy(server: Server, input: CheckInput, kind: 'untrusted' | 'incomplete'): Hit[] {
  const served = servedChain(server, input.facts.storeOf)
  if (!served) return []
  const callers = input.configuration.servers.filter((caller) => {
    const use = storeUses(caller).find((one) => one.property === 'druid.client.https.trustStorePath')
    const content = use && input.facts.storeOf(use)
    return (
      content?.kind === 'open' &&
      content.trusted.length > 0 &&
      trustIn(served.chain, content.trusted) === kind
    )
  })
  if (callers.length === 0) return []
  const top = served.chain.at(-1) as X509Certificate
  const effect =
    'Servers that use this trust store ([druid.client.https.trustStorePath]) cannot connect to the server, and neither can clients that trust only the same authorities.'
  return [
    kind === 'untrusted'
      ? {
          at: placeOf(server, served.use.property),
          problem: `The certificate in [${served.use.path}] was issued by [${subjectOf(top)}], which is not in [druid.client.https.trustStorePath]`,
          effect,
          fix: 'Import the issuing authority into the trust stores, or use a certificate from an authority that they contain.',
        }
      : {
          at: placeOf(server, served.use.property),
          problem: `The chain in [${served.use.path}] ends with [${subjectOf(top)}]: the certificate of its issuer is missing`,
          effect,
          fix: "Add the intermediate certificates to the chain in the key store, after the server's certificate.",
        },
  ]
}

/** Checks of the TLS settings of a server that need no store. */
export const tlsChecks: readonly Check[] = [
  {
    code: 'ports-closed',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) =>
      !servesTls(server) && !flagOf(server, 'druid.enablePlaintextPort', true)
        ? [
            {
              at: placeOf(server, 'druid.enablePlaintextPort'),
              problem: '[druid.enablePlaintextPort] is [false], and [druid.enableTlsPort] is not [true]',
              effect: 'The server does not start, because it has neither a plaintext port nor a TLS port.',
              fix: 'Set [druid.enableTlsPort] to true.',
            },
          ]
        : [],
  },
  {
    code: 'key-store-missing',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) =>
      servesTls(server) && !server.properties.has('druid.server.https.keyStorePath')
        ? [
            {
              at: placeOf(server, 'druid.enableTlsPort'),
              problem: '[druid.enableTlsPort] is [true], but [druid.server.https.keyStorePath] is not set',
              effect: 'The server does not start.',
              fix: 'Set [druid.server.https.keyStorePath], and the type and password of the key store.',
            },
          ]
        : [],
  },
  {
    code: 'client-trust-missing',
    severity: 'error',
    locksOut: 'the servers',
    find: (server, input) => {
      if (server.properties.has('druid.client.https.trustStorePath')) return []
      const isLoaded = loadedExtensions(server)?.includes(clientExtension) ?? false
      const loading = isLoaded ? '' : `, and load the extension [${clientExtension}]`
      const fix = `Set [druid.client.https.trustStorePath]${loading}.${javaTrustStoreNoteOfServers(server, input)}`
      if (isLoaded)
        return [
          {
            at: placeOf(server, 'druid.extensions.loadList'),
            problem: `[druid.extensions.loadList] contains [${clientExtension}], but [druid.client.https.trustStorePath] is not set`,
            effect: 'The server does not start, because the extension requires a trust store.',
            fix,
            prevents: 'start',
            locksOut: 'everyone',
            up: refusesLikeDruid,
          },
        ]
      return servesTls(server)
        ? [
            {
              at: placeOf(server, 'druid.enableTlsPort'),
              problem: '[druid.enableTlsPort] is [true], but [druid.client.https.trustStorePath] is not set',
              effect:
                'The servers start, but cannot call each other or themselves: duties fail with [no sslContext].',
              fix,
            },
          ]
        : []
    },
  },
  {
    code: 'client-extension-not-loaded',
    severity: 'error',
    locksOut: 'the servers',
    find: (server) => {
      const loaded = loadedExtensions(server)
      return loaded === undefined ||
        loaded.includes(clientExtension) ||
        !server.properties.has('druid.client.https.trustStorePath')
        ? []
        : [
            {
              at: placeOf(server, 'druid.extensions.loadList'),
              problem: `[druid.extensions.loadList] does not contain [${clientExtension}], the extension that reads the [druid.client.https] properties`,
              effect:
                'The servers start, but cannot call each other over TLS: duties fail with [no sslContext].',
              fix: `Add "${clientExtension}" to [druid.extensions.loadList].`,
            },
          ]
    },
  },
  {
    code: 'client-certificates-unverifiable',
    severity: 'error',
    locksOut: 'everyone',
    find: (server) =>
      servesTls(server) &&
      flagOf(server, 'druid.server.https.requireClientCertificate', false) &&
      !server.properties.has('druid.server.https.trustStorePath')
        ? [
            {
              at: placeOf(server, 'druid.server.https.requireClientCertificate'),
              problem:
                '[druid.server.https.requireClientCertificate] is [true], but [druid.server.https.trustStorePath] is not set',
              effect: 'No client certificate can be verified, so every connection is rejected.',
              fix: 'Set [druid.server.https.trustStorePath].',
            },
          ]
        : [],
  },
  {
    code: 'client-key-missing',
    severity: 'error',
    locksOut: 'the servers',
    find: (server, { configuration }) => {
      const demanding = configuration.servers.find((one) =>
        flagOf(one, 'druid.server.https.requireClientCertificate', false),
      )
      return demanding === undefined || server.properties.has('druid.client.https.keyStorePath')
        ? []
        : [
            {
              at: placeOf(demanding, 'druid.server.https.requireClientCertificate'),
              problem: `[${demanding.name}] requires client certificates, but [druid.client.https.keyStorePath] is not set`,
              effect: 'Servers reject connections from other servers.',
              fix: 'Set [druid.client.https.keyStorePath] to a store with a certificate for this server.',
            },
          ]
    },
  },
]
