/** The settings as conditions read them: they stand below the table of properties, whose types they cannot know. */
export interface ReadableValues {
  /** The value of a property; `name` stands for `<name>` where it has that. */
  valueOf(property: string, name: string): unknown
}

/** Under which other settings a property has an effect. */
export interface Condition {
  /** What must be so, to stand behind "only where"; `<name>` stands for the authenticator or authorizer. */
  readonly text: string
  /** `name` is that of the authenticator or authorizer under which the property stands, if it stands under one. */
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

// A trust store in PEM has no password.
const isJavaStore = (property: string): Condition => is(property, 'jks', 'pkcs12')

const listOf = (settings: ReadableValues, property: string) =>
  settings.valueOf(property, '') as readonly string[]

const chainOf = (settings: ReadableValues) => listOf(settings, 'svc.auth.authenticatorChain')

/** Whether an authenticator asks for logins, rather than let everyone in. */
const isBasicAuthenticator = (settings: ReadableValues, name: string): boolean =>
  name !== 'allowAll' && settings.valueOf('svc.auth.authenticator.<name>.type', name) === 'basic'

/** Whether the users of an authenticator are in a directory. */
const usesDirectory = (settings: ReadableValues, name: string): boolean =>
  isBasicAuthenticator(settings, name) &&
  settings.valueOf('svc.auth.authenticator.<name>.credentialsValidator.type', name) === 'ldap'

/** The authenticators of the chain whose users an authorizer decides about. */
const authenticatorsOf = (settings: ReadableValues, authorizer: string): readonly string[] =>
  chainOf(settings).filter(
    (name) => settings.valueOf('svc.auth.authenticator.<name>.authorizerName', name) === authorizer,
  )

// The more a condition asks for, the further behind it stands: the first one that does not hold is told.

export const opensPlaintext: readonly Condition[] = [is('svc.enablePlaintextPort', true)]
export const servesTls: readonly Condition[] = [is('svc.enableTlsPort', true)]

export const asksForCertificates: readonly Condition[] = [
  ...servesTls,
  anyOf(
    is('svc.server.https.requireClientCertificate', true),
    is('svc.server.https.requestClientCertificate', true),
  ),
]
export const trustsClients: readonly Condition[] = [
  ...asksForCertificates,
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

export const inChain: readonly Condition[] = [
  {
    text: '[svc.auth.authenticatorChain] names [<name>]',
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
export const asksDirectory: readonly Condition[] = [
  ...basicAuthenticator,
  is('svc.auth.authenticator.<name>.credentialsValidator.type', 'ldap'),
]
export const bindsToSearch: readonly Condition[] = [
  ...asksDirectory,
  isSet('svc.auth.authenticator.<name>.credentialsValidator.bindUser'),
]
export const searchesGroups: readonly Condition[] = [
  ...asksDirectory,
  isSet('svc.auth.authenticator.<name>.credentialsValidator.groupBaseDn'),
]

export const decidesAnything: readonly Condition[] = [
  {
    text: '[svc.auth.authenticatorChain] names another authenticator than [allowAll]',
    holds: (settings) => chainOf(settings).some((name) => name !== 'allowAll'),
  },
]
export const decides: readonly Condition[] = [
  {
    text: '[svc.auth.authorizers] names [<name>]',
    holds: (settings, name) => listOf(settings, 'svc.auth.authorizers').includes(name),
  },
  {
    text: 'an authenticator of [svc.auth.authenticatorChain] has [<name>] as its [authorizerName]',
    holds: (settings, name) => authenticatorsOf(settings, name).length > 0,
  },
]
export const basicAuthorizer: readonly Condition[] = [
  ...decides,
  is('svc.auth.authorizer.<name>.type', 'basic'),
]
const isOfDirectory: Condition = {
  text: 'an authenticator with this authorizer has its users in a directory',
  holds: (settings, name) =>
    authenticatorsOf(settings, name).some((authenticator) => usesDirectory(settings, authenticator)),
}
/** To have no groups where there is no directory is what everyone gets. */
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
    text: 'an authenticator of [svc.auth.authenticatorChain] has a directory with an address that begins with ldaps',
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

export const asksForLogin: readonly Condition[] = [
  {
    text: 'somebody has to log in: an authenticator of [svc.auth.authenticatorChain] is [basic]',
    holds: (settings) => chainOf(settings).some((name) => isBasicAuthenticator(settings, name)),
  },
]
export const keepsOwnPasswords: readonly Condition[] = [
  {
    text: 'an authenticator of [svc.auth.authenticatorChain] keeps its users in the metadata store',
    holds: (settings) =>
      chainOf(settings).some(
        (name) => isBasicAuthenticator(settings, name) && !usesDirectory(settings, name),
      ),
  },
]
export const countsFailures: readonly Condition[] = [
  ...asksForLogin,
  {
    text: '[svc.auth.throttle.failures] is more than [0]',
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
