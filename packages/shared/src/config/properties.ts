import type { Condition } from './conditions.ts'
import * as conditions from './conditions.ts'
import {
  aliasList,
  cacheLocations,
  countsByName,
  flag,
  oneOf,
  type PropertyType,
  password,
  periodMs,
  port,
  sizeBytes,
  sizeBytesFrom,
  text,
  textList,
  virtualServerGroups,
  wholeNumber,
} from './property-types.ts'

/** The least memory in which a task reads and sorts any number of rows. */
export const leastTaskMemoryBytes = 256 * 2 ** 20

/** The server roles of a cluster. */
export const roles = ['router', 'coordinator', 'overlord', 'historical', 'broker', 'worker'] as const
export type Role = (typeof roles)[number]

/** What is known of one property; `fallback` may differ by role, and a property without one has no value then. */
export interface PropertyDefinition<Value> {
  readonly type: PropertyType<Value>
  readonly fallback: string | Readonly<Record<Role, string>> | undefined
  readonly about: string
  readonly secret: boolean
  /** Under which other settings it has an effect: where all of them hold; always where there are none. */
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

/** A property that has an effect under some other settings only: where it is set without them, that is told at start. */
const onlyWhere = <Definition>(needed: readonly Condition[], definition: Definition): Definition => ({
  ...definition,
  conditions: needed,
})

const storeTypes = oneOf('jks', 'pkcs12', 'pem')

/**
 * Every property that the servers read. `<name>` stands for the name of an authenticator or authorizer. What is
 * not here is refused at start; the same table makes the list in docs/properties.md.
 */
export const properties = {
  'svc.host': property(text, 'host name or address by which the other servers reach this one', '127.0.0.1'),
  'svc.bindOnHost': property(flag, 'listen on svc.host only; false listens on every address', 'true'),
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
    property(port, 'port without TLS', {
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
    property(port, 'port with TLS', {
      router: '9088',
      coordinator: '8281',
      overlord: '8290',
      historical: '8283',
      broker: '8282',
      worker: '8291',
    }),
  ),
  'svc.enablePlaintextPort': property(flag, 'serve without TLS', 'true'),
  'svc.enableTlsPort': property(flag, 'serve with TLS', 'false'),
  'svc.api.aliases': property(
    aliasList,
    'words under which the interface is offered too: with ["druid"] also at /druid/** and /druid-ext/**',
    '[]',
  ),
  'svc.log.level': property(oneOf('error', 'warn', 'info', 'debug'), 'least level that is logged', 'info'),

  'svc.metadata.storage.type': property(oneOf('postgresql'), 'kind of metadata store', 'postgresql'),
  'svc.metadata.storage.connector.host': property(text, 'host of the metadata store', '127.0.0.1'),
  'svc.metadata.storage.connector.port': property(port, 'port of the metadata store', '5432'),
  'svc.metadata.storage.connector.database': property(text, 'database of the metadata store', 'svc'),
  'svc.metadata.storage.connector.user': property(text, 'user of the metadata store', 'svc'),
  'svc.metadata.storage.connector.password': property(password, 'password of the metadata store', ''),
  'svc.metadata.storage.connector.tls.mode': property(
    oneOf('disable', 'require', 'verify-ca', 'verify-full'),
    'TLS to the metadata store: none; encrypted only; with a certificate of tls.caPath; also for its host name',
    'disable',
  ),
  'svc.metadata.storage.connector.tls.caPath': onlyWhere(
    conditions.verifiesMetadataStore,
    property(
      text,
      'PEM file of authorities that the metadata store may have its certificate from; without it those of the system',
    ),
  ),
  'svc.queue.redis.host': property(text, 'host of the Redis that holds the queues', '127.0.0.1'),
  'svc.queue.redis.port': property(port, 'port of that Redis', '6379'),
  'svc.queue.redis.password': property(password, 'password of that Redis', ''),
  'svc.queue.redis.user': property(text, 'user of that Redis; without it the one named default'),
  'svc.queue.redis.tls.enabled': property(flag, 'reach that Redis over TLS', 'false'),
  'svc.queue.redis.tls.caPath': onlyWhere(
    conditions.speaksTlsToRedis,
    property(
      text,
      'PEM file of authorities that Redis may have its certificate from; without it those of the system',
    ),
  ),
  'svc.queue.redis.tls.validateHostnames': onlyWhere(
    conditions.speaksTlsToRedis,
    property(flag, 'the certificate of Redis must be for svc.queue.redis.host', 'true'),
  ),
  'svc.queue.prefix': property(text, 'prefix of every key in Redis, so that clusters can share one', 'svc'),
  'svc.discovery.heartbeatPeriod': property(periodMs, 'how often a server tells that it is alive', 'PT1S'),
  'svc.discovery.timeout': property(periodMs, 'silence after which a server is taken for dead', 'PT5S'),
  'svc.leader.leasePeriod': property(periodMs, 'how long a leader leads without renewing its lease', 'PT5S'),

  'svc.server.https.keyStoreType': onlyWhere(
    conditions.servesTls,
    property(storeTypes, 'kind of the key store', 'jks'),
  ),
  'svc.server.https.keyStorePath': onlyWhere(
    conditions.servesTls,
    property(text, 'key store with private key and certificate chain'),
  ),
  'svc.server.https.keyStorePassword': onlyWhere(
    conditions.servesTls,
    property(password, 'password of the key store'),
  ),
  'svc.server.https.keyManagerPassword': onlyWhere(
    conditions.servesTls,
    property(password, 'password of the private key, where it is not that of the key store'),
  ),
  'svc.server.https.certAlias': onlyWhere(
    conditions.servesTls,
    property(text, 'alias of the certificate in the key store; without it the first; PEM has none'),
  ),
  'svc.server.https.requireClientCertificate': onlyWhere(
    conditions.servesTls,
    property(flag, 'refuse clients that show no certificate of svc.server.https.trustStorePath', 'false'),
  ),
  'svc.server.https.requestClientCertificate': onlyWhere(
    conditions.servesTls,
    property(
      flag,
      'ask clients for a certificate; those without one are served, those with a bad one are not',
      'false',
    ),
  ),
  'svc.server.https.validateHostnames': onlyWhere(
    conditions.asksForCertificates,
    property(flag, 'the certificate of a client must be for the host that it comes from', 'true'),
  ),
  'svc.server.https.trustStoreType': onlyWhere(
    conditions.asksForCertificates,
    property(storeTypes, 'kind of the trust store for clients', 'jks'),
  ),
  'svc.server.https.trustStorePath': onlyWhere(
    conditions.asksForCertificates,
    property(text, 'certificates that clients must have theirs from'),
  ),
  'svc.server.https.trustStorePassword': onlyWhere(
    conditions.trustsClients,
    property(password, 'password of the trust store for clients'),
  ),
  'svc.server.https.crlPath': onlyWhere(
    conditions.asksForCertificates,
    property(text, 'revoked certificates of clients: a list (PEM or DER) for each authority of the chain'),
  ),
  'svc.server.https.reloadSslContext': onlyWhere(
    conditions.hasStores,
    property(
      flag,
      'stores and lists are read again when their files change, those of svc.client.https too',
      'true',
    ),
  ),
  'svc.server.https.reloadSslContextSeconds': onlyWhere(
    conditions.reloadsStores,
    property(wholeNumber(1, 86_400), 'how often their files are looked at', '1'),
  ),
  'svc.client.https.protocol': property(
    oneOf('TLSv1.2', 'TLSv1.3', 'TLS'),
    'least version of TLS that a client accepts; TLS stands for 1.2',
    'TLSv1.2',
  ),
  'svc.client.https.validateHostnames': property(
    flag,
    'the certificate of a server must be for the host by which it was called',
    'true',
  ),
  'svc.client.https.trustStoreType': onlyWhere(
    conditions.hasClientTrust,
    property(storeTypes, 'kind of the trust store', 'jks'),
  ),
  'svc.client.https.trustStorePath': property(text, 'certificates that this server trusts as a client'),
  'svc.client.https.trustStorePassword': onlyWhere(
    conditions.hasClientTrustPassword,
    property(password, 'password of the trust store'),
  ),
  'svc.client.https.keyStoreType': onlyWhere(
    conditions.hasClientKey,
    property(storeTypes, 'kind of the key store for calls', 'jks'),
  ),
  'svc.client.https.keyStorePath': property(
    text,
    'key store with the certificate that this server shows where it is a client and is asked for one',
  ),
  'svc.client.https.keyStorePassword': onlyWhere(
    conditions.hasClientKey,
    property(password, 'password of that key store'),
  ),
  'svc.client.https.keyManagerPassword': onlyWhere(
    conditions.hasClientKey,
    property(password, 'password of its private key, where it is another one'),
  ),
  'svc.client.https.certAlias': onlyWhere(
    conditions.hasClientKey,
    property(text, 'alias of the certificate in that key store; PEM has none'),
  ),
  'svc.client.https.crlPath': property(
    text,
    'revoked certificates of servers: a list (PEM or DER) for each authority of the chain',
  ),

  'svc.extensions.loadList': property(
    textList,
    'extensions: svc-basic-security for logins, simple-client-sslcontext for TLS between servers',
    '[]',
  ),
  'svc.auth.authenticatorChain': property(
    textList,
    'names of the authenticators, asked in this order',
    '["allowAll"]',
  ),
  'svc.auth.authenticator.<name>.type': onlyWhere(
    conditions.inChain,
    property(oneOf('basic', 'allowAll'), 'kind of the authenticator'),
  ),
  'svc.auth.authenticator.<name>.initialAdminPassword': onlyWhere(
    conditions.keepsPasswords,
    property(password, 'first password of the user admin'),
  ),
  'svc.auth.authenticator.<name>.initialInternalClientPassword': onlyWhere(
    conditions.keepsPasswords,
    property(password, 'first password of the internal user'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.type': onlyWhere(
    conditions.basicAuthenticator,
    property(
      oneOf('metadata', 'ldap'),
      'where the users are kept: in the metadata store, or in an LDAP directory',
      'metadata',
    ),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.url': onlyWhere(
    conditions.asksDirectory,
    property(text, 'address of the directory, ldap://host:port or ldaps://host:port'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.bindUser': onlyWhere(
    conditions.asksDirectory,
    property(text, 'distinguished name that searches the directory; without it searches are anonymous'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.bindPassword': onlyWhere(
    conditions.bindsToSearch,
    property(password, 'password of bindUser'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.baseDn': onlyWhere(
    conditions.asksDirectory,
    property(text, 'distinguished name below which users are searched'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.userSearch': onlyWhere(
    conditions.asksDirectory,
    property(text, 'filter that finds a user; %s stands for the name that was typed, escaped', '(uid=%s)'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.userAttribute': onlyWhere(
    conditions.asksDirectory,
    property(text, 'attribute that holds the name by which a found user is known here', 'uid'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.groupBaseDn': onlyWhere(
    conditions.asksDirectory,
    property(text, 'where groups are searched that name their members, for directories without memberOf'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.groupSearch': onlyWhere(
    conditions.searchesGroups,
    property(
      text,
      'filter that finds the groups of a user; %s stands for the distinguished name of the user, escaped',
      '(|(member=%s)(uniqueMember=%s))',
    ),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.connectTimeout': onlyWhere(
    conditions.asksDirectory,
    property(periodMs, 'how long a login waits for a connection to the directory', 'PT3S'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.readTimeout': onlyWhere(
    conditions.asksDirectory,
    property(
      periodMs,
      'how long a login waits for the directory, from waiting for a connection to the last answer',
      'PT4S',
    ),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.credentialVerifyDuration': onlyWhere(
    conditions.asksDirectory,
    property(wholeNumber(0, 86_400), 'seconds for which a verified login is not verified again', '60'),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.credentialMaxDuration': onlyWhere(
    conditions.asksDirectory,
    property(
      wholeNumber(0, 86_400),
      'seconds after its verification for which a login holds while the directory is away',
      '600',
    ),
  ),
  'svc.auth.authenticator.<name>.credentialsValidator.credentialCacheSize': onlyWhere(
    conditions.asksDirectory,
    property(wholeNumber(1, 1_000_000), 'verified logins that are remembered at a time', '1000'),
  ),
  'svc.auth.authenticator.<name>.skipOnFailure': onlyWhere(
    conditions.basicAuthenticator,
    property(flag, 'a user unknown here may be known to the next authenticator', 'false'),
  ),
  'svc.auth.authenticator.<name>.authorizerName': onlyWhere(
    conditions.inChain,
    property(text, 'authorizer that decides what its users may do'),
  ),
  'svc.auth.authenticator.<name>.enableCacheNotifications': onlyWhere(
    conditions.basicAuthenticator,
    property(flag, 'changes of users always reach the other servers at once; false is refused', 'true'),
  ),
  'svc.auth.authorizers': onlyWhere(
    conditions.decidesAnything,
    property(textList, 'names of the authorizers', '["allowAll"]'),
  ),
  'svc.auth.authorizer.<name>.type': onlyWhere(
    conditions.decides,
    property(oneOf('basic', 'allowAll'), 'kind of the authorizer'),
  ),
  'svc.auth.authorizer.<name>.initialAdminUser': onlyWhere(
    conditions.basicAuthorizer,
    property(
      text,
      'another administrator, who gets initialAdminRole; the user admin has only the role admin',
      'admin',
    ),
  ),
  'svc.auth.authorizer.<name>.initialAdminRole': onlyWhere(
    conditions.basicAuthorizer,
    property(text, 'role that is made with every permission', 'admin'),
  ),
  'svc.auth.authorizer.<name>.initialAdminGroupMapping': onlyWhere(
    conditions.mapsGroups,
    property(
      text,
      'directory group whose members get initialAdminRole, by a mapping named adminGroupMapping',
    ),
  ),
  'svc.auth.authorizer.<name>.roleProvider.type': onlyWhere(
    conditions.mayMapGroups,
    property(oneOf('metadata', 'ldap'), 'ldap: roles come from group mappings too', 'metadata'),
  ),
  'svc.auth.authorizer.<name>.roleProvider.groupFilters': onlyWhere(
    conditions.mapsGroups,
    property(
      textList,
      'patterns of the directory groups that count (*, a whole name, *,suffix, prefix,*); all where empty',
      '[]',
    ),
  ),
  'svc.auth.authorizer.<name>.compatibility': onlyWhere(
    conditions.basicAuthorizer,
    property(
      flag,
      'answers as recorded where ours are stricter: lists not filtered, CONFIG WRITE on any name makes an administrator',
      'false',
    ),
  ),
  'svc.auth.basic.ssl.protocol': onlyWhere(
    conditions.reachesTlsDirectory,
    property(
      oneOf('TLS', 'TLSv1.2', 'TLSv1.3'),
      'least version of TLS to a directory; TLS stands for 1.2',
      'TLS',
    ),
  ),
  'svc.auth.basic.ssl.trustStoreType': onlyWhere(
    conditions.trustsDirectory,
    property(storeTypes, 'kind of the trust store for directories', 'jks'),
  ),
  'svc.auth.basic.ssl.trustStorePath': onlyWhere(
    conditions.reachesTlsDirectory,
    property(text, 'certificates that are trusted for ldaps addresses'),
  ),
  'svc.auth.basic.ssl.trustStorePassword': onlyWhere(
    conditions.trustsDirectoryByPassword,
    property(password, 'password of that trust store', ''),
  ),
  'svc.auth.basic.ssl.validateHostnames': onlyWhere(
    conditions.reachesTlsDirectory,
    property(flag, 'the host of a directory must be in its certificate; false is refused', 'true'),
  ),
  'svc.auth.credentials.minLength': onlyWhere(
    conditions.keepsOwnPasswords,
    property(wholeNumber(1, 128), 'least length of a new password', '8'),
  ),
  'svc.auth.throttle.failures': onlyWhere(
    conditions.asksForLogin,
    property(
      wholeNumber(0, 1_000_000),
      'failed logins of one user from one address after which further ones are verified one at a time, each [svc.auth.throttle.delay] after the one before, and refused with 429 in between; the same for ten times as many of one user from all addresses where it has not logged in; 0 switches it off',
      '20',
    ),
  ),
  'svc.auth.throttle.period': onlyWhere(
    conditions.countsFailures,
    property(periodMs, 'time within which failed logins are counted', 'PT15M'),
  ),
  'svc.auth.throttle.delay': onlyWhere(
    conditions.countsFailures,
    property(
      periodMs,
      'time between two logins that are verified after too many failed: how long a user waits who is being guessed at from the same address',
      'PT5S',
    ),
  ),
  'svc.auth.internalClientAllowedNetworks': onlyWhere(
    conditions.asksForLogin,
    property(
      textList,
      'networks such as 10.0.0.0/8 from which the internal user is let in; all where empty',
      '[]',
    ),
  ),
  'svc.auth.unsecuredPaths': onlyWhere(
    conditions.asksForLogin,
    property(
      textList,
      'paths that need no login and no permission: whole ones, or ending in /* for all below',
      '[]',
    ),
  ),
  'svc.auth.allowUnauthenticatedHttpOptions': onlyWhere(
    conditions.asksForLogin,
    property(flag, 'OPTIONS needs no login', 'false'),
  ),
  'svc.escalator.type': property(oneOf('noop', 'basic'), 'identity of the servers among themselves', 'noop'),
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
      'authorizer of the internal user; it must be one that an authenticator of the chain names',
    ),
  ),

  'svc.storage.type': property(oneOf('local'), 'kind of deep storage', 'local'),
  'svc.storage.storageDirectory': property(text, 'folder of deep storage', 'var/svc/segments'),

  'svc.coordinator.startDelay': property(periodMs, 'wait after becoming leader before the first run', 'PT0S'),
  'svc.coordinator.period': property(periodMs, 'time between two runs of the coordinator duties', 'PT60S'),
  'svc.coordinator.load.timeout': property(
    periodMs,
    'time after which a load or drop that was not answered is asked for again',
    'PT15M',
  ),
  'svc.coordinator.serverTimeout': property(
    periodMs,
    'silence after which the copies of a server no longer count',
    'PT10S',
  ),

  'svc.coordinator.kill.on': property(
    flag,
    'segments that have been unused for long are erased, from deep storage too',
    'false',
  ),
  'svc.coordinator.kill.period': onlyWhere(
    conditions.killsSegments,
    property(periodMs, 'time between two looks for such segments', 'P1D'),
  ),
  'svc.coordinator.kill.durationToRetain': onlyWhere(
    conditions.retainsSegments,
    property(periodMs, 'unused segments that end within this time before now are kept', 'P90D'),
  ),
  'svc.coordinator.kill.ignoreDurationToRetain': onlyWhere(
    conditions.killsSegments,
    property(flag, 'unused segments are erased however new their data are', 'false'),
  ),
  'svc.coordinator.kill.bufferPeriod': onlyWhere(
    conditions.killsSegments,
    property(periodMs, 'how long a segment must have been unused before it is erased', 'P30D'),
  ),
  'svc.coordinator.kill.maxSegments': onlyWhere(
    conditions.killsSegments,
    property(wholeNumber(1, 1_000_000), 'segments that one task erases at the most', '100'),
  ),

  'svc.coordinator.kill.audit.on': property(
    flag,
    'entries of the audit and of the history of compaction are erased when they are old',
    'false',
  ),
  'svc.coordinator.kill.audit.period': onlyWhere(
    conditions.killsAudit,
    property(periodMs, 'time between two looks for such entries', 'P1D'),
  ),
  'svc.coordinator.kill.audit.durationToRetain': onlyWhere(
    conditions.killsAudit,
    property(
      periodMs,
      'entries of the audit and of the history of compaction that are not older than this are kept',
      'P90D',
    ),
  ),

  'svc.simulation.clock.enabled': property(
    flag,
    'the time of rules, versions, clean-up and audit entries is one that can be moved ahead; must be the same on every server. The periods between runs of duties stay real: POST /svc/simulation/v1/run runs them at once',
    'false',
  ),
  'svc.simulation.enabled': property(
    flag,
    'allow what only simulations need, such as virtual servers; never on a cluster with data of worth',
    'false',
  ),
  'svc.simulation.virtualServers': onlyWhere(
    conditions.simulates,
    property(
      virtualServerGroups,
      'servers that this historical is instead of one: they hold segments without bytes',
      '[]',
    ),
  ),
  'svc.simulation.compactionDuration': onlyWhere(
    conditions.simulates,
    property(
      periodMs,
      'how long a compact task of virtual segments takes; it reads and writes nothing',
      'PT1S',
    ),
  ),

  'svc.server.tier': property(text, 'tier of this server', '_default_tier'),
  'svc.server.maxSize': property(sizeBytes, 'bytes of segments that may be assigned to this server', '0'),
  'svc.server.priority': property(wholeNumber(-1000, 1000), 'priority of this server for queries', '0'),
  'svc.segmentCache.locations': property(
    cacheLocations,
    'folders that hold the segments of this server',
    '[]',
  ),
  'svc.segmentCache.numLoadingThreads': property(
    wholeNumber(1, 256),
    'segments that are loaded at a time',
    '4',
  ),

  'svc.compaction.period': property(
    periodMs,
    'time between two looks for intervals to compact, by the coordinator duty or the supervisors',
    'PT10S',
  ),

  'svc.worker.capacity': property(wholeNumber(0, 10_000), 'tasks that this server runs at a time', '2'),
  'svc.indexer.logs.directory': property(text, 'folder of task logs', 'var/svc/indexing-logs'),
  'svc.indexer.logs.kill.enabled': property(flag, 'logs of tasks are erased when they are old', 'false'),
  'svc.indexer.logs.kill.delay': onlyWhere(
    conditions.killsTaskLogs,
    property(periodMs, 'time between two looks for such logs', 'PT6H'),
  ),
  'svc.indexer.logs.kill.durationToRetain': onlyWhere(
    conditions.killsTaskLogs,
    property(periodMs, 'logs are kept for this long after their last line', 'P90D'),
  ),
  'svc.indexer.tasks.kill.enabled': property(
    flag,
    'tasks that are over are forgotten when that is long ago',
    'false',
  ),
  'svc.indexer.tasks.kill.delay': onlyWhere(
    conditions.killsTasks,
    property(periodMs, 'time between two looks for such tasks', 'PT6H'),
  ),
  'svc.indexer.tasks.kill.durationToRetain': onlyWhere(
    conditions.killsTasks,
    property(periodMs, 'tasks are kept for this long after their end', 'P90D'),
  ),
  'svc.indexer.task.baseTaskDir': property(text, 'folder of the working files of tasks', 'var/svc/task'),
  'svc.indexer.task.memoryLimit': property(
    sizeBytesFrom(leastTaskMemoryBytes),
    'memory that one task may use for its data',
    '1g',
  ),
  'svc.indexer.task.mostRunningByType': property(
    countsByName,
    'how many tasks of a type may run in the whole cluster at a time; a type that is not named has no limit',
    '{}',
  ),
  'svc.ingestion.local.allowedRoots': property(
    textList,
    'folders that ingestion may read local files from',
    '[]',
  ),
  'svc.ingestion.http.allowedHosts': property(
    textList,
    'hosts (host or host:port) that ingestion may fetch from',
    '[]',
  ),
  'svc.ingestion.http.idleTimeout': property(
    periodMs,
    'time after which a task abandons an HTTP source that sends nothing',
    'PT30S',
  ),
  'svc.ingestion.http.timeout': property(
    periodMs,
    'time that a task may take to fetch all its files over HTTP',
    'PT1H',
  ),
  'svc.ingestion.http.minBytesPerSecond': property(
    sizeBytes,
    'a task abandons an HTTP source that sends fewer bytes per second, on average over the idle timeout',
    '1k',
  ),
  'svc.ingestion.http.maxSize': property(
    sizeBytes,
    'bytes that a task may fetch over HTTP, all files together',
    '10g',
  ),
  'svc.ingestion.http.maxDecompressedSize': property(
    sizeBytes,
    'bytes that the compressed files a task fetches over HTTP may have when they are decompressed, all together',
    '100g',
  ),

  'svc.query.directory': property(
    text,
    'folder of a broker for fetched segments and the working files of queries; emptied at its start',
    'var/svc/query',
  ),
  'svc.query.cacheSize': property(sizeBytes, 'bytes of fetched segments that a broker keeps', '10g'),
  'svc.query.memoryLimit': property(
    sizeBytesFrom(64 * 2 ** 20),
    'memory that one query may use for its data',
    '1g',
  ),
  'svc.query.maxSpillSize': property(
    sizeBytes,
    'bytes that one query may put on disk where its memory is not enough',
    '10g',
  ),
  'svc.query.threads': property(wholeNumber(1, 256), 'threads of one query', '2'),
  'svc.query.memoryLimitPerCaller': property(
    sizeBytesFrom(64 * 2 ** 20),
    'maximum memory that the queries of one caller may use together, each counted with svc.query.memoryLimit; further ones wait, but one may always run',
  ),
  'svc.query.maxConcurrent': property(
    wholeNumber(1, 1000),
    "maximum number of queries that a broker runs at a time; from 2 on, one of them is kept free of one caller's queries and of long queries while others wait",
    '4',
  ),
  'svc.query.maxQueued': property(
    wholeNumber(0, 100_000),
    'maximum number of queries that wait; beyond it, the caller with the most waiting queries is refused with 429',
    '100',
  ),
  'svc.query.maxQueuedPerCaller': property(
    wholeNumber(0, 100_000),
    'maximum number of queries of one caller that wait; further ones are refused with 429',
    '50',
  ),
  'svc.query.callerWeights': property(
    countsByName,
    'shares of callers by user name: with {"dashboard":3} this user may use three times as much as another one while both wait; 1 for all who are not named',
    '{}',
  ),
  'svc.query.maxTimePerCaller': property(
    periodMs,
    'maximum time for which the running queries of one caller may have run together; beyond it, the longest ends with 504',
    'PT20M',
  ),
  'svc.query.timeout': property(periodMs, 'time that a query may take unless it says otherwise', 'PT5M'),
  'svc.query.maxTimeout': property(
    periodMs,
    'maximum that a query may set in context.timeout, and that applies if it sets 0',
    'PT10M',
  ),
  'svc.query.maxRows': property(
    wholeNumber(1, Number.MAX_SAFE_INTEGER),
    'rows that the answer of a query may have',
    '100000000',
  ),

  'svc.request.maxTaskSize': property(sizeBytes, 'largest body of a task', '64MiB'),
} as const

export type PropertyName = keyof typeof properties

// The names of authenticators and authorizers hold no dots, so that what stands behind them is never part of one.
const namedPatterns = Object.keys(properties)
  .filter((name) => name.includes('<name>'))
  .map((name) => {
    const [before, after] = name.split('<name>').map((part) => part.replaceAll('.', '\\.')) as [
      string,
      string,
    ]
    return { property: name as PropertyName, pattern: new RegExp(`^${before}([^.]+)${after}$`) }
  })

/** What is known of a property as it is written; `name` is that of the authenticator or authorizer it stands under. */
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
