/**
 * The settings as conditions read them. The table of properties imports the conditions, so these cannot use its types.
 */
export interface ReadableValues {
  /** Returns the value of a property; `name` replaces `<name>` in it. */
  valueOf(property: string, name: string): unknown
}

/** A condition on other settings under which a property applies. */
export interface Condition {
  /** The condition as it follows "only if"; `<name>` is the authenticator or authorizer. */
  readonly text: string
  /**
   * Returns whether the condition is met. `name` is the authenticator or authorizer in the name of the property, if
   * any.
   */
  holds(settings: ReadableValues, name: string): boolean
}

const is = (property: string, ...values: (string | boolean)[]): Condition => ({
  text: `[${property}] is ${values.map((value) => `[${value}]`).join(' or ')}`,
  holds: (settings, name) => values.includes(settings.valueOf(property, name) as string),
})

const isSet = (property: string): Condition => ({
  text: `[${property}] is set`,
  holds: (settings, name) => settings.valueOf(property, name) !== undefined,
})

const anyOf = (...conditions: Condition[]): Condition => ({
  text: conditions.map(({ text }) => text).join(' or '),
  holds: (settings, name) => conditions.some((condition) => condition.holds(settings, name)),
})

// PEM trust stores have no password.
const isJavaStore = (property: string): Condition => is(property, 'jks', 'pkcs12')

const listOf = (settings: ReadableValues, property: string) =>
  settings.valueOf(property, '') as readonly string[]

const chainOf = (settings: ReadableValues) => listOf(settings, 'svc.auth.authenticatorChain')

/** Returns whether an authenticator requires a login. */
const isBasicAuthenticator = (settings: ReadableValues, name: string): boolean =>
  name !== 'allowAll' && settings.valueOf('svc.auth.authenticator.<name>.type', name) === 'basic'

/** Returns whether the users of an authenticator are in a directory. */
const usesDirectory = (settings: ReadableValues, name: string): boolean =>
  isBasicAuthenticator(settings, name) &&
  settings.valueOf('svc.auth.authenticator.<name>.credentialsValidator.type', name) === 'ldap'

/** Returns the authenticators of the chain that use an authorizer. */
const authenticatorsOf = (settings: ReadableValues, authorizer: string): readonly string[] =>
  chainOf(settings).filter(
    (name) => settings.valueOf('svc.auth.authenticator.<name>.authorizerName', name) === authorizer,
  )

// General conditions come first: the warning names the first one that is not met.

export const opensPlaintext: readonly Condition[] = [is('svc.enablePlaintextPort', true)]
export const servesTls: readonly Condition[] = [is('svc.enableTlsPort', true)]

export const requestsCertificates: readonly Condition[] = [
  ...servesTls,
  anyOf(
    is('svc.server.https.requireClientCertificate', true),
    is('svc.server.https.requestClientCertificate', true),
  ),
]
export const trustsClients: readonly Condition[] = [
  ...requestsCertificates,
  isJavaStore('svc.server.https.trustStoreType'),
]

export const hasStores: readonly Condition[] = [
  anyOf(
    ...servesTls,
    isSet('svc.client.https.trustStorePath'),
    isSet('svc.client.https.keyStorePath'),
    isSet('svc.client.https.crlPath'),
  ),
]
export const reloadsStores: readonly Condition[] = [
  ...hasStores,
  is('svc.server.https.reloadSslContext', true),
]

export const hasClientTrust: readonly Condition[] = [isSet('svc.client.https.trustStorePath')]
export const hasClientTrustPassword: readonly Condition[] = [
  ...hasClientTrust,
  isJavaStore('svc.client.https.trustStoreType'),
]
export const hasClientKey: readonly Condition[] = [isSet('svc.client.https.keyStorePath')]

export const verifiesMetadataStore: readonly Condition[] = [
  is('svc.metadata.storage.connector.tls.mode', 'verify-ca', 'verify-full'),
]
export const speaksTlsToRedis: readonly Condition[] = [is('svc.queue.redis.tls.enabled', true)]

export const storesInS3: readonly Condition[] = [is('svc.storage.type', 's3')]
export const logsToS3: readonly Condition[] = [is('svc.indexer.logs.type', 's3')]
export const usesS3: readonly Condition[] = [
  anyOf(is('svc.storage.type', 's3'), is('svc.indexer.logs.type', 's3')),
]
export const usesTlsToS3: readonly Condition[] = [
  ...usesS3,
  {
    text: '[svc.s3.endpoint.url] does not start with [http:]',
    holds: (settings) => !String(settings.valueOf('svc.s3.endpoint.url', '') ?? '').startsWith('http:'),
  },
]

export const inChain: readonly Condition[] = [
  {
    text: '[svc.auth.authenticatorChain] contains [<name>]',
    holds: (settings, name) => chainOf(settings).includes(name),
  },
]
export const basicAuthenticator: readonly Condition[] = [
  ...inChain,
  is('svc.auth.authenticator.<name>.type', 'basic'),
]
export const keepsPasswords: readonly Condition[] = [
  ...basicAuthenticator,
  is('svc.auth.authenticator.<name>.credentialsValidator.type', 'metadata'),
]
export const ldapAuthenticator: readonly Condition[] = [
  ...basicAuthenticator,
  is('svc.auth.authenticator.<name>.credentialsValidator.type', 'ldap'),
]
export const bindsToSearch: readonly Condition[] = [
  ...ldapAuthenticator,
  isSet('svc.auth.authenticator.<name>.credentialsValidator.bindUser'),
]
export const searchesGroups: readonly Condition[] = [
  ...ldapAuthenticator,
  isSet('svc.auth.authenticator.<name>.credentialsValidator.groupBaseDn'),
]

export const decidesAnything: readonly Condition[] = [
  {
    text: '[svc.auth.authenticatorChain] contains an authenticator other than [allowAll]',
    holds: (settings) => chainOf(settings).some((name) => name !== 'allowAll'),
  },
]
export const decides: readonly Condition[] = [
  {
    text: '[svc.auth.authorizers] contains [<name>]',
    holds: (settings, name) => listOf(settings, 'svc.auth.authorizers').includes(name),
  },
  {
    text: 'the [authorizerName] of an authenticator in [svc.auth.authenticatorChain] is [<name>]',
    holds: (settings, name) => authenticatorsOf(settings, name).length > 0,
  },
]
export const basicAuthorizer: readonly Condition[] = [
  ...decides,
  is('svc.auth.authorizer.<name>.type', 'basic'),
]
const isOfDirectory: Condition = {
  text: 'an authenticator with this authorizer uses a directory',
  holds: (settings, name) =>
    authenticatorsOf(settings, name).some((authenticator) => usesDirectory(settings, authenticator)),
}
/** The type [metadata] is the default, so it needs no warning without a directory. */
export const mayMapGroups: readonly Condition[] = [
  ...basicAuthorizer,
  {
    text: isOfDirectory.text,
    holds: (settings, name) =>
      settings.valueOf('svc.auth.authorizer.<name>.roleProvider.type', name) === 'metadata' ||
      isOfDirectory.holds(settings, name),
  },
]
export const mapsGroups: readonly Condition[] = [
  ...basicAuthorizer,
  is('svc.auth.authorizer.<name>.roleProvider.type', 'ldap'),
  isOfDirectory,
]

export const reachesTlsDirectory: readonly Condition[] = [
  {
    text: 'an authenticator in [svc.auth.authenticatorChain] uses a directory with an ldaps URL',
    holds: (settings) =>
      chainOf(settings).some(
        (name) =>
          usesDirectory(settings, name) &&
          String(settings.valueOf('svc.auth.authenticator.<name>.credentialsValidator.url', name)).startsWith(
            'ldaps:',
          ),
      ),
  },
]
export const trustsDirectory: readonly Condition[] = [
  ...reachesTlsDirectory,
  isSet('svc.auth.basic.ssl.trustStorePath'),
]
export const trustsDirectoryByPassword: readonly Condition[] = [
  ...trustsDirectory,
  isJavaStore('svc.auth.basic.ssl.trustStoreType'),
]

export const anyBasicAuthenticator: readonly Condition[] = [
  {
    text: 'an authenticator in [svc.auth.authenticatorChain] has type [basic]',
    holds: (settings) => chainOf(settings).some((name) => isBasicAuthenticator(settings, name)),
  },
]
export const keepsOwnPasswords: readonly Condition[] = [
  {
    text: 'an authenticator in [svc.auth.authenticatorChain] stores its users in the metadata store',
    holds: (settings) =>
      chainOf(settings).some(
        (name) => isBasicAuthenticator(settings, name) && !usesDirectory(settings, name),
      ),
  },
]
export const countsFailures: readonly Condition[] = [
  ...anyBasicAuthenticator,
  {
    text: '[svc.auth.throttle.failures] is greater than [0]',
    holds: (settings) => Number(settings.valueOf('svc.auth.throttle.failures', '')) > 0,
  },
]
export const escalates: readonly Condition[] = [is('svc.escalator.type', 'basic')]

export const killsSegments: readonly Condition[] = [is('svc.coordinator.kill.on', true)]
export const retainsSegments: readonly Condition[] = [
  ...killsSegments,
  is('svc.coordinator.kill.ignoreDurationToRetain', false),
]
export const killsAudit: readonly Condition[] = [is('svc.coordinator.kill.audit.on', true)]
export const killsTaskLogs: readonly Condition[] = [is('svc.indexer.logs.kill.enabled', true)]
export const killsTasks: readonly Condition[] = [is('svc.indexer.tasks.kill.enabled', true)]
export const simulates: readonly Condition[] = [is('svc.simulation.enabled', true)]
