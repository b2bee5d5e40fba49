import { similarName } from '@svc/domain/validation'
import { isListText, listOf, placeOf, type Server, textOf } from '../configuration.ts'
import type { Check, Hit } from '../findings.ts'
import { directoriesOf } from '../logins.ts'
import { requestsCertificates, servesTls, usesLdaps } from '../stores.ts'
import { nobodyLogsIn, usersOf } from './ldap-check.ts'

/** Types of stores in Java, and in the providers that add some. Java ignores the case. */
const storeTypes = ['jks', 'pkcs12', 'jceks', 'dks', 'caseexactjks', 'pkcs11', 'bks', 'bcfks', 'bcpkcs12']

/** Versions of TLS, as Java names them; a server accepts or rejects these. */
const protocols = ['TLSv1.3', 'TLSv1.2', 'TLSv1.1', 'TLSv1', 'SSLv3', 'SSLv2Hello']
/** Java ignores the case. */
const contexts = ['TLSv1.3', 'TLSv1.2', 'TLSv1.1', 'TLSv1', 'TLS', 'SSLv3', 'SSL', 'Default']

const keyExchanges = [
  ...['ECDHE_ECDSA', 'ECDHE_RSA', 'ECDH_ECDSA', 'ECDH_RSA', 'ECDH_anon'],
  ...['DHE_RSA', 'DHE_DSS', 'DH_RSA', 'DH_DSS', 'DH_anon', 'RSA', 'KRB5', 'PSK'],
]
const ciphers = [
  ...['AES_256_GCM_SHA384', 'AES_128_GCM_SHA256', 'CHACHA20_POLY1305_SHA256'],
  ...['AES_256_CBC_SHA384', 'AES_256_CBC_SHA256', 'AES_256_CBC_SHA', 'AES_128_CBC_SHA256', 'AES_128_CBC_SHA'],
  ...['3DES_EDE_CBC_SHA', '3DES_EDE_CBC_MD5', 'DES_CBC_SHA', 'DES_CBC_MD5', 'RC4_128_SHA', 'RC4_128_MD5'],
  ...['NULL_SHA256', 'NULL_SHA', 'NULL_MD5'],
]
/** Cipher suites as Java names them, also those that it has disabled. */
const cipherSuites: readonly string[] = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_AES_128_GCM_SHA256', 'TLS_CHACHA20_POLY1305_SHA256'],
  'TLS_EMPTY_RENEGOTIATION_INFO_SCSV',
  ...['TLS', 'SSL'].flatMap((start) =>
    keyExchanges.flatMap((exchange) => ciphers.map((cipher) => `${start}_${exchange}_WITH_${cipher}`)),
  ),
]

/** A property with a name that Java must know. */
interface NamedProperty {
  readonly property: string
  readonly names: readonly string[]
}

const storeType = (property: string): NamedProperty => ({ property, names: storeTypes })

/** The properties of a server that it reads when it starts. */
const readAtStart = (server: Server): readonly NamedProperty[] => [
  ...(servesTls(server) ? [storeType('druid.server.https.keyStoreType')] : []),
  ...(requestsCertificates(server) ? [storeType('druid.server.https.trustStoreType')] : []),
  ...(server.properties.has('druid.client.https.trustStorePath')
    ? [
        storeType('druid.client.https.trustStoreType'),
        { property: 'druid.client.https.protocol', names: contexts },
      ]
    : []),
  ...(server.properties.has('druid.client.https.keyStorePath')
    ? [storeType('druid.client.https.keyStoreType')]
    : []),
]

const readForDirectories = (server: Server): readonly NamedProperty[] =>
  usesLdaps(server)
    ? [
        storeType('druid.auth.basic.ssl.trustStoreType'),
        { property: 'druid.auth.basic.ssl.protocol', names: contexts },
        ...(server.properties.has('druid.auth.basic.ssl.keyStorePath')
          ? [storeType('druid.auth.basic.ssl.keyStoreType')]
          : []),
      ]
    : []

const suggested = (value: string, names: readonly string[]): string =>
  similarName(value, names) ?? (names === storeTypes ? 'jks' : names === contexts ? 'TLSv1.2' : names[0]!)

/** Returns the properties whose values Java does not know. */
function unknownValues(
  server: Server,
  properties: readonly NamedProperty[],
  texts: Pick<Hit, 'effect' | 'locksOut'>,
): Hit[] {
  return properties.flatMap(({ property, names }) => {
    const value = textOf(server, property)
    if (value === undefined || names.some((name) => name.toLowerCase() === value.trim().toLowerCase()))
      return []
    return [
      {
        at: placeOf(server, property),
        problem: `Invalid value [${value}] for [${property}]: Java does not know this name`,
        fix: `Use a name that Java knows, such as [${suggested(value, names)}].`,
        ...texts,
      },
    ]
  })
}

const listed = (['include', 'exclude'] as const).flatMap((verb) => [
  { verb, property: `druid.server.https.${verb}Protocols`, names: protocols },
  { verb, property: `druid.server.https.${verb}CipherSuites`, names: cipherSuites },
])

/** Returns whether Java knows a name. Cipher suites may be regular expressions, which are accepted as they are. */
const isKnown = (entry: string, names: readonly string[]): boolean =>
  names.includes(entry) || (names === cipherSuites && !/^[\w-]+$/.test(entry))

/** Checks of names that Java must know: types of stores, versions of TLS, and cipher suites. */
export const tlsNameChecks: readonly Check[] = [
  {
    code: 'tls-value-invalid',
    severity: 'error',
    prevents: 'start',
    find: (server) => [
      ...unknownValues(server, readAtStart(server), {
        effect: 'The server does not start.',
        locksOut: 'everyone',
      }),
      ...(servesTls(server) ? listed : []).flatMap(({ property }): Hit[] => {
        const value = textOf(server, property)
        if (value === undefined || isListText(value)) return []
        return [
          {
            at: placeOf(server, property),
            problem: `Invalid value [${value}] for [${property}]: expected a JSON list of strings such as ["a","b"]`,
            effect: 'The server does not start.',
            fix: 'Correct the value.',
            locksOut: 'everyone',
          },
        ]
      }),
    ],
  },
  {
    code: 'directory-tls-invalid',
    severity: 'error',
    find: (server) =>
      unknownValues(server, readForDirectories(server), {
        effect: nobodyLogsIn,
        locksOut: usersOf(directoriesOf(server)),
      }),
  },
  {
    code: 'tls-names-unknown',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) =>
      listsOf(server)
        .filter(({ verb, known }) => verb === 'include' && known.length === 0)
        .map(({ property, unknown, names }) => ({
          at: placeOf(server, property),
          problem: `[${property}] contains no name that Java knows: [${unknown.join(', ')}]`,
          effect: 'The server does not start.',
          fix: `Use names that Java knows, such as [${suggested(unknown[0] ?? '', names)}], or remove the property.`,
        })),
  },
  {
    code: 'tls-name-ignored',
    severity: 'warning',
    find: (server) =>
      listsOf(server)
        .filter(({ verb, known, unknown }) => unknown.length > 0 && (verb === 'exclude' || known.length > 0))
        .map(({ verb, property, unknown, names }) => ({
          at: placeOf(server, property),
          problem: `[${property}] contains names that Java does not know: [${unknown.join(', ')}]`,
          effect: `The server ignores these names, so it does not ${verb} what they stand for.`,
          fix: `Use names that Java knows, such as [${suggested(unknown[0] as string, names)}], or remove them.`,
        })),
  },
]

function listsOf(server: Server) {
  return (servesTls(server) ? listed : []).flatMap((one) => {
    const entries = listOf(server, one.property) ?? []
    if (entries.length === 0) return []
    const known = entries.filter((entry) => isKnown(entry, one.names))
    return [{ ...one, known, unknown: entries.filter((entry) => !known.includes(entry)) }]
  })
}
