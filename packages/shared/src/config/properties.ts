import { minTlsVersion, tlsProtocols } from '../tls/versions.ts'
import type { Condition } from './conditions.ts'
import * as conditions from './conditions.ts'
import {
  aliasList,
  cacheLocations,
  countsByName,
  flag,
  httpUrl,
  integer,
  keyPrefix,
  oneOf,
  type PropertyType,
  password,
  periodMs,
  port,
  rulesPolicyFile,
  sizeBytes,
  sizeBytesFrom,
  text,
  textList,
  virtualServerGroups,
} from './property-types.ts'

/** Minimum memory with which a task can read and sort any number of rows. */
export const minTaskMemoryBytes = 256 * 2 ** 20

/** The server roles of a cluster. */
export const roles = ['router', 'coordinator', 'overlord', 'historical', 'broker', 'worker'] as const
export type Role = (typeof roles)[number]

/**
 * One property. `fallback` is its default, which may differ by role; a property without a default is undefined if it is
 * not set.
 */
export interface PropertyDefinition<Value> {
  readonly type: PropertyType<Value>
  readonly fallback: string | Readonly<Record<Role, string>> | undefined
  readonly about: string
  readonly secret: boolean
  /** The property applies only if all of these conditions are met. */
  readonly conditions: readonly Condition[]
}

type Required<Value> = PropertyDefinition<Value> & {
  readonly fallback: string | Readonly<Record<Role, string>>
}
type Optional<Value> = PropertyDefinition<Value> & { readonly fallback: undefined }

function property<Value>(
  type: PropertyType<Value>,
  about: string,
  fallback: string | Readonly<Record<Role, string>>,
): Required<Value>
function property<Value>(type: PropertyType<Value>, about: string): Optional<Value>
function property<Value>(
  type: PropertyType<Value>,
  about: string,
  fallback?: string | Readonly<Record<Role, string>>,
): PropertyDefinition<Value> {
  return { type, about, fallback, secret: (type as PropertyType<unknown>) === password, conditions: [] }
}

/**
 * A property that applies only under some conditions. A server logs a warning at startup if it is set and they are not
 * met.
 */
const onlyWhere = <Definition>(needed: readonly Condition[], definition: Definition): Definition => ({
  ...definition,
  conditions: needed,
})

const storeTypes = oneOf('jks', 'pkcs12', 'pem')

/**
 * Every property of the servers. `<name>` is the name of an authenticator or authorizer. Servers reject all other
 * properties at startup. docs/properties.md is generated from this table.
 */
export const properties = {
  'svc.host': property(text, 'host name or address at which other servers reach this server', '127.0.0.1'),
  'svc.bindOnHost': property(
    flag,
    'whether to listen only on [svc.host] instead of on all addresses',
    'true',
  ),
  'svc.service': property(text, 'name of the service in discovery', {
    router: 'svc/router',
    coordinator: 'svc/coordinator',
    overlord: 'svc/overlord',
    historical: 'svc/historical',
    broker: 'svc/broker',
    worker: 'svc/worker',
  }),
  'svc.plaintextPort': onlyWhere(
    conditions.opensPlaintext,
    property(port, 'HTTP port', {
      router: '8888',
      coordinator: '8081',
      overlord: '8090',
      historical: '8083',
      broker: '8082',
      worker: '8091',
    }),
  ),
  'svc.tlsPort': onlyWhere(
    conditions.servesTls,
    property(port, 'HTTPS port', {
      router: '9088',
      coordinator: '8281',
      overlord: '8290',
      historical: '8283',
      broker: '8282',
      worker: '8291',
    }),
  ),
  'svc.enablePlaintextPort': property(flag, 'whether to serve HTTP (without TLS)', 'true'),
  'svc.enableTlsPort': property(flag, 'whether to serve HTTPS', 'false'),
  'svc.api.aliases': property(
    aliasList,
    'path aliases of the API: with ["druid"], the API is also available at /druid/** and /druid-ext/**',
    '[]',
  ),
  'svc.log.level': property(oneOf('error', 'warn', 'info', 'debug'), 'minimum level of log messages', 'info'),

  'svc.metadata.storage.type': property(oneOf('postgresql'), 'type of the metadata store', 'postgresql'),
  'svc.metadata.storage.connector.host': property(text, 'host of the metadata store', '127.0.0.1'),
  'svc.metadata.storage.connector.port': property(port, 'port of the metadata store', '5432'),
  'svc.metadata.storage.connector.database': property(
    text,
    'name of the database in the metadata store',
    'svc',
  ),
  'svc.metadata.storage.connector.user': property(text, 'user name for the metadata store', 'svc'),
  'svc.metadata.storage.connector.password': property(password, 'password for the metadata store', ''),
  'svc.metadata.storage.connector.tls.mode': property(
    oneOf('disable', 'require', 'verify-ca', 'verify-full'),
    'TLS mode of connections to the metadata store: disable (no TLS), require (encrypt, but do not verify the certificate), verify-ca (verify the certificate), verify-full (verify the certificate and its host name)',
    'disable',
  ),
  'svc.metadata.storage.connector.tls.caPath': onlyWhere(
    conditions.verifiesMetadataStore,
    property(
      text,
      "PEM file with the certificate authorities trusted for the metadata store; if not set, the system's certificate authorities are trusted",
    ),
  ),
  'svc.queue.redis.host': property(text, 'host of Redis, which stores the queues', '127.0.0.1'),
  'svc.queue.redis.port': property(port, 'port of Redis', '6379'),
  'svc.queue.redis.password': property(password, 'password for Redis', ''),
  'svc.queue.redis.user': property(text, 'user name for Redis; if not set, the user [default] is used'),
  'svc.queue.redis.tls.enabled': property(flag, 'whether to connect to Redis with TLS', 'false'),
  'svc.queue.redis.tls.caPath': onlyWhere(
    conditions.speaksTlsToRedis,
    property(
      text,
      "PEM file with the certificate authorities trusted for Redis; if not set, the system's certificate authorities are trusted",
    ),
  ),
  'svc.queue.redis.tls.validateHostnames': onlyWhere(
    conditions.speaksTlsToRedis,
    property(flag, "whether Redis's certificate must be valid for [svc.queue.redis.host]", 'true'),
  ),
  'svc.queue.prefix': property(
    text,
    'prefix of all keys in Redis; lets several clusters share one Redis',
    'svc',
  ),
  'svc.discovery.heartbeatPeriod': property(periodMs, "time between a server's heartbeats", 'PT1S'),
  'svc.discovery.timeout': property(
    periodMs,
    'time without heartbeats after which a server is considered dead',
    'PT5S',
  ),
  'svc.leader.leasePeriod': property(
    periodMs,
    "time after which a leader's lease expires unless it is renewed",
    'PT4S',
  ),

  'svc.server.http.maxConnections': property(
    integer(1, 1_000_000),
    'maximum number of open connections from clients, with and without TLS; above it, idle connections are closed',
    '2000',
  ),
  'svc.server.http.maxConnectionsPerAddress': property(
    integer(1, 1_000_000),
    'maximum number of open connections from one IP address, or from one IPv6 network (/64)',
    '500',
  ),
  'svc.server.https.keyStoreType': onlyWhere(
    conditions.servesTls,
    property(storeTypes, 'type of the key store', 'jks'),
  ),
  'svc.server.https.keyStorePath': onlyWhere(
    conditions.servesTls,
    property(text, "key store with the server's private key and certificate chain"),
  ),
  'svc.server.https.keyStorePassword': onlyWhere(
    conditions.servesTls,
    property(password, 'password of the key store'),
  ),
  'svc.server.https.keyManagerPassword': onlyWhere(
    conditions.servesTls,
    property(password, 'password of the private key, if it differs from the password of the key store'),
  ),
  'svc.server.https.certAlias': onlyWhere(
    conditions.servesTls,
    property(
      text,
      'alias of the certificate in the key store; if not set, the first certificate is used. PEM files have no aliases',
    ),
  ),
  'svc.server.https.requireClientCertificate': onlyWhere(
    conditions.servesTls,
    property(
      flag,
      'whether to reject clients that do not present a certificate trusted by [svc.server.https.trustStorePath]',
      'false',
    ),
  ),
  'svc.server.https.requestClientCertificate': onlyWhere(
    conditions.servesTls,
    property(
      flag,
      'whether to request a certificate from clients; clients without one are accepted, but invalid certificates are rejected',
      'false',
    ),
  ),
  'svc.server.https.validateHostnames': onlyWhere(
    conditions.requestsCertificates,
    property(
      flag,
      "whether a client's certificate must be valid for the host that the client connects from",
      'true',
    ),
  ),
  'svc.server.https.trustStoreType': onlyWhere(
    conditions.requestsCertificates,
    property(storeTypes, 'type of the trust store for clients', 'jks'),
  ),
  'svc.server.https.trustStorePath': onlyWhere(
    conditions.requestsCertificates,
    property(text, 'trust store that client certificates are verified against'),
  ),
  'svc.server.https.trustStorePassword': onlyWhere(
    conditions.trustsClients,
    property(password, 'password of the trust store for clients'),
  ),
  'svc.server.https.crlPath': onlyWhere(
    conditions.requestsCertificates,
    property(
      text,
      'certificate revocation lists for client certificates (PEM or DER), one for each authority in the chain',
    ),
  ),
  'svc.server.https.reloadSslContext': onlyWhere(
    conditions.hasStores,
    property(
      flag,
      'whether to reload key stores, trust stores, and revocation lists when their files change; also applies to the files in [svc.client.https.*]',
      'true',
    ),
  ),
  'svc.server.https.reloadSslContextSeconds': onlyWhere(
    conditions.reloadsStores,
    property(integer(1, 86_400), 'seconds between checks for changed files', '1'),
  ),
  'svc.client.https.protocol': property(
    oneOf(...tlsProtocols),
    `minimum TLS version for outgoing connections; TLS means ${minTlsVersion}`,
    minTlsVersion,
  ),
  'svc.client.https.validateHostnames': property(
    flag,
    "whether a server's certificate must be valid for the host in its URL",
    'true',
  ),
  'svc.client.https.trustStoreType': onlyWhere(
    conditions.hasClientTrust,
    property(storeTypes, 'type of the trust store for outgoing connections', 'jks'),
  ),
  'svc.client.https.trustStorePath': property(
    text,
    'trust store with the certificates that this server trusts for outgoing connections',
  ),
  'svc.client.https.trustStorePassword': onlyWhere(
    conditions.hasClientTrustPassword,
    property(password, 'password of the trust store for outgoing connections'),
  ),
  'svc.client.https.keyStoreType': onlyWhere(
    conditions.hasClientKey,
    property(storeTypes, 'type of the key store for outgoing connections', 'jks'),
  ),
  'svc.client.https.keyStorePath': property(
    text,
    'key store with the client certificate that this server presents when another server requests one',
  ),
  'svc.client.https.keyStorePassword': onlyWhere(
    conditions.hasClientKey,
    property(password, 'password of the key store for outgoing connections'),
  ),
  'svc.client.https.keyManagerPassword': onlyWhere(
    conditions.hasClientKey,
    property(
      password,
      'password of the private key, if it differs from the password of the key store for outgoing connections',
    ),
  ),
  'svc.client.https.certAlias': onlyWhere(
    conditions.hasClientKey,
    property(
      text,
      'alias of the certificate in the key store for outgoing connections; PEM files have no aliases',
    ),
  ),
  'svc.client.https.crlPath': property(
    text,
    'certificate revocation lists (PEM or DER) for server certificates, one for each authority in the chain',
  ),

  'svc.extensions.loadList': property(
    textList,
    'extensions to load: svc-basic-security for logins, simple-client-sslcontext for TLS between servers, svc-s3-extensions for S3; all of them are built in, so a wrong list only causes warnings',
    '[]',
  ),
  'svc.auth.authenticatorChain': property(
    textList,
    'names of the authenticators, in the order in which they are tried',
    '["allowAll"]',
  ),
  'svc.auth.authenticator.<name>.type': onlyWhere(
    conditions.inChain,
    property(oneOf('basic', 'allowAll'), 'type of the authenticator'),
  ),
  'svc.auth.authenticator.<name>.initialAdminPassword': onlyWhere(
    conditions.keepsPasswords,
    property(password, 'initial password of the user admin'),
  ),
  'svc.auth.authenticator.<name>.initialInternalClientPassword': onlyWhere(
    conditions.keepsPasswords,
    property(password, 'initial password of the internal user'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.type': onlyWhere(
    conditions.basicAuthenticator,
    property(
      oneOf('metadata', 'ldap'),
      'where users are stored: metadata (in the metadata store) or ldap (in an LDAP directory)',
      'metadata',
    ),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.url': onlyWhere(
    conditions.ldapAuthenticator,
    property(text, 'URL of the directory: ldap://host:port or ldaps://host:port'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.bindUser': onlyWhere(
    conditions.ldapAuthenticator,
    property(
      text,
      'distinguished name (DN) of the user that searches the directory; if not set, searches are anonymous',
    ),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.bindPassword': onlyWhere(
    conditions.bindsToSearch,
    property(password, 'password of [bindUser]'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.baseDn': onlyWhere(
    conditions.ldapAuthenticator,
    property(text, 'base DN for user searches'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.userSearch': onlyWhere(
    conditions.ldapAuthenticator,
    property(
      text,
      'search filter for a user; %s and %1$s are replaced with the escaped user name of the login, and %% with a percent sign',
      '(uid=%s)',
    ),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.userAttribute': onlyWhere(
    conditions.ldapAuthenticator,
    property(text, 'directory attribute that contains the user name', 'uid'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.groupBaseDn': onlyWhere(
    conditions.ldapAuthenticator,
    property(text, 'base DN for finding groups by member, in directories without the memberOf attribute'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.groupSearch': onlyWhere(
    conditions.searchesGroups,
    property(
      text,
      'search filter for the groups of a user; %s and %1$s are replaced with the escaped DN of the user, and %% with a percent sign',
      '(|(member=%s)(uniqueMember=%s))',
    ),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.connectTimeout': onlyWhere(
    conditions.ldapAuthenticator,
    property(periodMs, 'maximum time a login waits to connect to the directory', 'PT3S'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.readTimeout': onlyWhere(
    conditions.ldapAuthenticator,
    property(periodMs, 'maximum total time a login waits for the directory, including connecting', 'PT4S'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.credentialVerifyDuration': onlyWhere(
    conditions.ldapAuthenticator,
    property(integer(0, 86_400), 'seconds until a cached login is verified again', '60'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.credentialMaxDuration': onlyWhere(
    conditions.ldapAuthenticator,
    property(
      integer(0, 86_400),
      'seconds for which a cached login stays valid while the directory is unavailable',
      '600',
    ),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.credentialCacheSize': onlyWhere(
    conditions.ldapAuthenticator,
    property(integer(1, 1_000_000), 'maximum number of cached logins', '1000'),
  ),
  'svc.auth.authenticator.<name>.skipOnFailure': onlyWhere(
    conditions.basicAuthenticator,
    property(flag, 'whether to pass logins of unknown users on to the next authenticator', 'false'),
  ),
  'svc.auth.authenticator.<name>.authorizerName': onlyWhere(
    conditions.inChain,
    property(text, "authorizer that checks the permissions of the authenticator's users"),
  ),
  'svc.auth.authenticator.<name>.enableCacheNotifications': onlyWhere(
    conditions.basicAuthenticator,
    property(flag, 'whether to notify the other servers immediately when users change; must be true', 'true'),
  ),
  'svc.auth.authorizers': onlyWhere(
    conditions.decidesAnything,
    property(textList, 'names of the authorizers', '["allowAll"]'),
  ),
  'svc.auth.authorizer.<name>.type': onlyWhere(
    conditions.decides,
    property(oneOf('basic', 'allowAll'), 'type of the authorizer'),
  ),
  'svc.auth.authorizer.<name>.initialAdminUser': onlyWhere(
    conditions.basicAuthorizer,
    property(
      text,
      'name of an additional administrator, who gets the role in [initialAdminRole]; the built-in user admin always has the role admin',
      'admin',
    ),
  ),
  'svc.auth.authorizer.<name>.initialAdminRole': onlyWhere(
    conditions.basicAuthorizer,
    property(text, 'role that is created with all permissions', 'admin'),
  ),
  'svc.auth.authorizer.<name>.initialAdminGroupMapping': onlyWhere(
    conditions.mapsGroups,
    property(
      text,
      'directory group whose members get the role in [initialAdminRole], through a group mapping named [adminGroupMapping]',
    ),
  ),
  'svc.auth.authorizer.<name>.roleProvider.type': onlyWhere(
    conditions.mayMapGroups,
    property(
      oneOf('metadata', 'ldap'),
      'where roles come from: metadata (the metadata store) or ldap (the metadata store and group mappings)',
      'metadata',
    ),
  ),
  'svc.auth.authorizer.<name>.roleProvider.groupFilters': onlyWhere(
    conditions.mapsGroups,
    property(
      textList,
      'patterns for the directory groups that grant roles: [*], a distinguished name, [*,suffix], or [prefix,*]; if empty, all groups can grant roles',
      '[]',
    ),
  ),
  'svc.auth.authorizer.<name>.compatibility': onlyWhere(
    conditions.basicAuthorizer,
    property(
      flag,
      "whether to use Druid 37's less strict access checks: lists are unfiltered, and WRITE on any CONFIG resource makes a user an administrator",
      'false',
    ),
  ),
  'svc.auth.basic.ssl.protocol': onlyWhere(
    conditions.reachesTlsDirectory,
    property(
      oneOf(...tlsProtocols),
      `minimum TLS version for connections to a directory; TLS means ${minTlsVersion}`,
      'TLS',
    ),
  ),
  'svc.auth.basic.ssl.trustStoreType': onlyWhere(
    conditions.trustsDirectory,
    property(storeTypes, 'type of the trust store for directories', 'jks'),
  ),
  'svc.auth.basic.ssl.trustStorePath': onlyWhere(
    conditions.reachesTlsDirectory,
    property(text, 'trust store with the certificates trusted for ldaps URLs'),
  ),
  'svc.auth.basic.ssl.trustStorePassword': onlyWhere(
    conditions.trustsDirectoryByPassword,
    property(password, 'password of the trust store for directories', ''),
  ),
  'svc.auth.basic.ssl.validateHostnames': onlyWhere(
    conditions.reachesTlsDirectory,
    property(
      flag,
      "whether a directory's certificate must be valid for its host; only true is supported",
      'true',
    ),
  ),
  'svc.auth.credentials.minLength': onlyWhere(
    conditions.keepsOwnPasswords,
    property(integer(1, 128), 'minimum length of a new password', '8'),
  ),
  'svc.auth.throttle.failures': onlyWhere(
    conditions.anyBasicAuthenticator,
    property(
      integer(0, 1_000_000),
      'maximum number of failed logins per user and address before further logins are throttled: one login attempt per [svc.auth.throttle.delay] is checked, and the others get 429. All addresses from which the user has never logged in share a limit that is ten times as high. 0 turns throttling off',
      '20',
    ),
  ),
  'svc.auth.throttle.period': onlyWhere(
    conditions.countsFailures,
    property(periodMs, 'time window in which failed logins are counted', 'PT15M'),
  ),
  'svc.auth.throttle.delay': onlyWhere(
    conditions.countsFailures,
    property(
      periodMs,
      "time between login attempts that are checked during throttling; a user may wait this long to log in while someone at the same address is guessing the user's password",
      'PT5S',
    ),
  ),
  'svc.auth.internalClientAllowedNetworks': onlyWhere(
    conditions.anyBasicAuthenticator,
    property(
      textList,
      'networks from which the internal user may log in, such as 10.0.0.0/8; if empty, all networks are allowed',
      '[]',
    ),
  ),
  'svc.auth.unsecuredPaths': onlyWhere(
    conditions.anyBasicAuthenticator,
    property(
      textList,
      'paths that require no login and no permission; a path ending in /* covers all paths below it',
      '[]',
    ),
  ),
  'svc.auth.allowUnauthenticatedHttpOptions': onlyWhere(
    conditions.anyBasicAuthenticator,
    property(flag, 'whether to allow OPTIONS requests without a login', 'false'),
  ),
  'svc.escalator.type': property(
    oneOf('noop', 'basic'),
    'how servers log in to each other: noop (they do not log in) or basic (as the internal user)',
    'noop',
  ),
  'svc.escalator.internalClientUsername': onlyWhere(
    conditions.escalates,
    property(text, 'user name of the internal user', 'svc_system'),
  ),
  'svc.escalator.internalClientPassword': onlyWhere(
    conditions.escalates,
    property(password, 'password of the internal user'),
  ),
  'svc.escalator.authorizerName': onlyWhere(
    conditions.escalates,
    property(
      text,
      'authorizer of the internal user; must be the authorizer of an authenticator in the chain',
    ),
  ),

  'svc.storage.type': property(
    oneOf('local', 's3'),
    'type of deep storage: local (a folder that all servers share) or s3',
    'local',
  ),
  'svc.storage.storageDirectory': property(
    text,
    'folder of deep storage if [svc.storage.type] is [local]',
    'var/svc/segments',
  ),
  'svc.storage.bucket': onlyWhere(conditions.storesInS3, property(text, 'bucket of deep storage')),
  'svc.storage.baseKey': onlyWhere(
    conditions.storesInS3,
    property(keyPrefix, 'key prefix of all segment files in the bucket; empty for no prefix', ''),
  ),
  'svc.s3.accessKey': onlyWhere(
    conditions.usesS3,
    property(
      password,
      'access key for S3; without keys, servers use the default AWS credentials: environment variables, profiles, or the role of the machine or pod',
    ),
  ),
  'svc.s3.secretKey': onlyWhere(conditions.usesS3, property(password, 'secret key for S3')),
  'svc.s3.endpoint.url': onlyWhere(
    conditions.usesS3,
    property(
      httpUrl,
      'URL of the S3 service; if not set, the URL of AWS in the region [svc.s3.endpoint.signingRegion]',
    ),
  ),
  'svc.s3.endpoint.signingRegion': onlyWhere(
    conditions.usesS3,
    property(text, 'region of the bucket; used to sign requests', 'us-east-1'),
  ),
  'svc.s3.enablePathStyleAccess': onlyWhere(
    conditions.usesS3,
    property(
      flag,
      'whether to use path-style URLs (bucket in the path instead of in the host name); most S3 services other than AWS require this',
      'false',
    ),
  ),
  'svc.s3.tls.caPath': onlyWhere(
    conditions.usesTlsToS3,
    property(
      text,
      "PEM file with the certificate authorities trusted for S3; if not set, the system's certificate authorities are trusted",
    ),
  ),
  'svc.s3.retryTimeout': onlyWhere(
    conditions.usesS3,
    property(
      periodMs,
      'how long a request is retried while S3 is unavailable before the operation fails',
      'PT1M',
    ),
  ),

  'svc.coordinator.startDelay': property(
    periodMs,
    'delay between becoming the leader and the first run',
    'PT0S',
  ),
  'svc.coordinator.period': property(periodMs, 'time between runs of the coordinator duties', 'PT60S'),
  'svc.coordinator.load.timeout': property(
    periodMs,
    'time without a response after which a load or drop request is sent again',
    'PT15M',
  ),
  'svc.coordinator.serverTimeout': property(
    periodMs,
    "time without reports after which a server's replicas are ignored",
    'PT10S',
  ),
  'svc.coordinator.expectedServers': property(
    textList,
    'historicals and brokers (host:port) that a leader waits for before it treats its knowledge of the cluster as complete, including those that have not announced themselves yet; ./svc up lists the servers that it starts',
    '[]',
  ),

  'svc.coordinator.waitBeforeMarkingOvershadowed': property(
    flag,
    'whether a new leader always waits [millisToWaitBeforeDeleting] milliseconds before it marks overshadowed segments as unused, as in Druid 37; if false, it waits only if [millisToWaitBeforeDeleting] differs from the default (15 minutes)',
    'false',
  ),

  'svc.coordinator.rules.policy': property(
    rulesPolicyFile,
    'YAML file with limits on changes to retention rules; changes that exceed them are rejected; see [Declared state](declared-state.md#policies)',
  ),

  'svc.coordinator.kill.on': property(
    flag,
    'whether to permanently delete segments that have been unused for a long time, including their files in deep storage',
    'false',
  ),
  'svc.coordinator.kill.period': onlyWhere(
    conditions.killsSegments,
    property(periodMs, 'time between searches for unused segments to delete', 'P1D'),
  ),
  'svc.coordinator.kill.durationToRetain': onlyWhere(
    conditions.retainsSegments,
    property(periodMs, 'how long unused segments are kept after the end of their interval', 'P90D'),
  ),
  'svc.coordinator.kill.ignoreDurationToRetain': onlyWhere(
    conditions.killsSegments,
    property(flag, 'whether to delete unused segments regardless of how recent their data is', 'false'),
  ),
  'svc.coordinator.kill.bufferPeriod': onlyWhere(
    conditions.killsSegments,
    property(periodMs, 'minimum time a segment must be unused before it is deleted', 'P30D'),
  ),
  'svc.coordinator.kill.maxSegments': onlyWhere(
    conditions.killsSegments,
    property(integer(1, 1_000_000), 'maximum number of segments that one kill task deletes', '100'),
  ),

  'svc.coordinator.kill.audit.on': property(
    flag,
    'whether to delete old entries of the audit log and of the compaction configuration history',
    'false',
  ),
  'svc.coordinator.kill.audit.period': onlyWhere(
    conditions.killsAudit,
    property(periodMs, 'time between searches for old entries', 'P1D'),
  ),
  'svc.coordinator.kill.audit.durationToRetain': onlyWhere(
    conditions.killsAudit,
    property(
      periodMs,
      'age at which entries of the audit log and of the compaction configuration history are deleted',
      'P90D',
    ),
  ),

  'svc.simulation.clock.enabled': property(
    flag,
    'whether to use a simulated clock, which can be moved forward, for rules, versions, cleanup, and audit entries; must be the same on every server. The periods between duty runs are still measured in real time; POST /svc/simulation/v1/run runs duties immediately',
    'false',
  ),
  'svc.simulation.enabled': property(
    flag,
    'whether to allow simulation-only features, such as virtual servers; never use it on a cluster with valuable data',
    'false',
  ),
  'svc.testing.enabled': property(
    flag,
    'whether tests may replace the state of the cluster through its API; must be the same on every server. Never use it on a cluster with valuable data',
    'false',
  ),
  'svc.simulation.virtualServers': onlyWhere(
    conditions.simulates,
    property(
      virtualServerGroups,
      'virtual servers that this process simulates instead of running as a single historical; their segments have no files',
      '[]',
    ),
  ),
  'svc.simulation.placementFile': onlyWhere(
    conditions.simulates,
    property(
      text,
      'file that preserves the segments of each virtual server across restarts; this process writes the file when it stops and reads it when it starts. Without this file, virtual servers start empty',
    ),
  ),
  'svc.simulation.compactionDuration': onlyWhere(
    conditions.simulates,
    property(
      periodMs,
      'simulated duration of a compaction task for virtual segments; the task does not read or write any files',
      'PT1S',
    ),
  ),

  'svc.server.tier': property(text, 'tier of this server', '_default_tier'),
  'svc.server.maxSize': property(
    sizeBytes,
    'maximum total size of the segments assigned to this server',
    '0',
  ),
  'svc.server.priority': property(
    integer(-1000, 1000),
    'priority of this server, as server lists show it; does not affect queries',
    '0',
  ),
  'svc.segmentCache.locations': property(
    cacheLocations,
    'folders in which this server stores its segments',
    '[]',
  ),
  'svc.segmentCache.numLoadingThreads': property(
    integer(1, 256),
    'maximum number of segments that are loaded at the same time',
    '4',
  ),

  'svc.compaction.period': property(
    periodMs,
    'time between searches for intervals to compact, by the coordinator duty or the supervisors',
    'PT10S',
  ),

  'svc.worker.capacity': property(
    integer(0, 10_000),
    'maximum number of tasks that this server runs at the same time',
    '2',
  ),
  'svc.indexer.logs.type': property(
    oneOf('file', 's3'),
    'where task logs are stored: in a folder that all overlords and workers share, or in S3',
    'file',
  ),
  'svc.indexer.logs.directory': property(
    text,
    'folder for task logs if [svc.indexer.logs.type] is [file]',
    'var/svc/indexing-logs',
  ),
  'svc.indexer.logs.s3Bucket': onlyWhere(conditions.logsToS3, property(text, 'bucket for task logs')),
  'svc.indexer.logs.s3Prefix': onlyWhere(
    conditions.logsToS3,
    property(keyPrefix, 'key prefix of all task logs in the bucket; empty for no prefix', ''),
  ),
  'svc.indexer.logs.kill.enabled': property(flag, 'whether to delete old task logs', 'false'),
  'svc.indexer.logs.kill.delay': onlyWhere(
    conditions.killsTaskLogs,
    property(periodMs, 'time between searches for old task logs', 'PT6H'),
  ),
  'svc.indexer.logs.kill.durationToRetain': onlyWhere(
    conditions.killsTaskLogs,
    property(periodMs, 'how long a task log is kept after its last line is written', 'P90D'),
  ),
  'svc.indexer.tasks.kill.enabled': property(flag, 'whether to delete old completed tasks', 'false'),
  'svc.indexer.tasks.kill.delay': onlyWhere(
    conditions.killsTasks,
    property(periodMs, 'time between searches for old completed tasks', 'PT6H'),
  ),
  'svc.indexer.tasks.kill.durationToRetain': onlyWhere(
    conditions.killsTasks,
    property(periodMs, 'how long a task is kept after it completes', 'P90D'),
  ),
  'svc.indexer.task.baseTaskDir': property(text, 'folder for the working files of tasks', 'var/svc/task'),
  'svc.indexer.task.memoryLimit': property(
    sizeBytesFrom(minTaskMemoryBytes),
    'maximum memory that one task may use for its data',
    '1g',
  ),
  'svc.indexer.task.maxRunningByType': property(
    countsByName,
    'maximum number of running tasks in the cluster by task type; a type without an entry has no limit',
    '{}',
  ),
  'svc.ingestion.local.allowedRoots': property(
    textList,
    'folders from which ingestion may read local files',
    '[]',
  ),
  'svc.ingestion.http.allowedHosts': property(
    textList,
    'hosts from which ingestion may fetch files, as host:port, or as host for the ports 80 (http) and 443 (https)',
    '[]',
  ),
  'svc.ingestion.http.idleTimeout': property(
    periodMs,
    'time after which a task abandons an HTTP source that sends nothing',
    'PT30S',
  ),
  'svc.ingestion.http.timeout': property(
    periodMs,
    'maximum time for a task to fetch all its files over HTTP',
    'PT1H',
  ),
  'svc.ingestion.http.minBytesPerSecond': property(
    sizeBytes,
    'minimum speed in bytes per second, averaged over [svc.ingestion.http.idleTimeout]; a task abandons slower HTTP sources',
    '1k',
  ),
  'svc.ingestion.http.maxSize': property(
    sizeBytes,
    'maximum total size of the files that a task fetches over HTTP',
    '10g',
  ),
  'svc.ingestion.http.maxDecompressedSize': property(
    sizeBytes,
    'maximum total size, after decompression, of the compressed files that a task fetches over HTTP',
    '100g',
  ),

  'svc.query.directory': property(
    text,
    'folder in which a broker stores fetched segments and the working files of queries; emptied at startup',
    'var/svc/query',
  ),
  'svc.query.cacheSize': property(
    sizeBytes,
    'maximum total size of the fetched segments that a broker keeps',
    '10g',
  ),
  'svc.query.memoryLimit': property(
    sizeBytesFrom(64 * 2 ** 20),
    'maximum memory that one query may use for its data',
    '1g',
  ),
  'svc.query.maxSpillSize': property(
    sizeBytes,
    'maximum size of the data that one query may write to disk when it runs out of memory',
    '10g',
  ),
  'svc.query.threads': property(integer(1, 256), 'number of threads per query', '2'),
  'svc.query.memoryLimitPerCaller': property(
    sizeBytesFrom(64 * 2 ** 20),
    'maximum memory for the running queries of one caller, where each query counts as [svc.query.memoryLimit]; further queries wait, but one query of each caller may always run',
    '2g',
  ),
  'svc.query.maxConcurrent': property(
    integer(1, 1000),
    'maximum number of queries that a broker runs at the same time; if at least 2, neither a single caller nor long queries can use all of this capacity while other queries wait',
    '4',
  ),
  'svc.query.maxQueued': property(
    integer(0, 100_000),
    'maximum number of waiting queries; above this limit, the caller with the most waiting queries gets 429',
    '100',
  ),
  'svc.query.maxQueuedPerCaller': property(
    integer(0, 100_000),
    'maximum number of waiting queries of one caller; further queries get 429',
    '50',
  ),
  'svc.query.callerWeights': property(
    countsByName,
    'weight of callers by user name: with {"dashboard":3}, the user dashboard gets three times the share of another user while both have waiting queries; all other users have weight 1',
    '{}',
  ),
  'svc.query.maxTimePerCaller': property(
    periodMs,
    'maximum total run time of the running queries of one caller; above this limit, the longest-running query ends with 504',
    'PT20M',
  ),
  'svc.query.timeout': property(periodMs, 'default timeout of a query', 'PT5M'),
  'svc.query.maxTimeout': property(
    periodMs,
    'maximum [context.timeout] of a query, and the timeout of queries that set [context.timeout] to 0',
    'PT10M',
  ),
  'svc.query.maxRows': property(
    integer(1, Number.MAX_SAFE_INTEGER),
    'maximum number of rows in the result of a query',
    '100000000',
  ),

  'svc.request.maxTaskSize': property(sizeBytes, 'maximum size of a request that submits a task', '64MiB'),
} as const

export type PropertyName = keyof typeof properties

// The names of authenticators and authorizers contain no dots, so the part after the name is unambiguous.
const namedPatterns = Object.keys(properties)
  .filter((name) => name.includes('<name>'))
  .map((name) => {
    const [before, after] = name.split('<name>').map((part) => part.replaceAll('.', '\\.')) as [
      string,
      string,
    ]
    return { property: name as PropertyName, pattern: new RegExp(`^${before}([^.]+)${after}$`) }
  })

/**
 * Returns the definition of a property; `name` is the name of the authenticator or authorizer in it, or empty. Returns
 * undefined for an unknown property.
 */
export function definitionOf(
  written: string,
): { readonly definition: PropertyDefinition<unknown>; readonly name: string } | undefined {
  if (Object.hasOwn(properties, written) && !written.includes('<name>'))
    return { definition: properties[written as PropertyName], name: '' }
  for (const { property, pattern } of namedPatterns) {
    const [, name] = pattern.exec(written) ?? []
    if (name !== undefined) return { definition: properties[property], name }
  }
  return undefined
}
