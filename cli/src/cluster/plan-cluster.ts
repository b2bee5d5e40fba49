import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import type { CountedRole, PlanOptions, Role } from '../cluster-options/index.ts'
import { type HomeLayout, type SecretName, secretFile } from '../home/index.ts'
import { directoryProperties } from '../ldap/index.ts'
import { keyStoreFile, revocationFile, trustStoreFile } from '../pki/index.ts'
import { postgresUser } from '../postgres/index.ts'

/** Properties of a service by name. */
export type Properties = Readonly<Record<string, string>>

/** One service of a planned cluster. */
export interface ServicePlan {
  readonly role: Role
  readonly instance: string
  readonly plaintextPort: number
  readonly tlsPort: number
  /** Its URL, with TLS if it has a TLS port. */
  readonly url: string
  /** The contents of its own `runtime.properties`. */
  readonly properties: Properties
}

/** The plan of a cluster, derived from options. */
export interface ClusterPlan {
  readonly options: PlanOptions
  readonly postgresPort: number
  readonly redisPort: number
  /** The port of the sample directory; undefined if there is none. */
  readonly directoryPort: number | undefined
  readonly services: readonly ServicePlan[]
  /** The contents of `common.runtime.properties`. */
  readonly common: Properties
  /** Whether any service has a TLS port, which requires certificates. */
  readonly hasTls: boolean
  /** The hosts that the services listen on. */
  readonly hosts: readonly string[]
  readonly routerUrl: string
}

/** What a plan depends on in addition to the options. */
export interface PlanSurroundings {
  readonly home: HomeLayout
  /** A folder with data that may be ingested, in addition to the home's input folder. */
  readonly dataFolder: string
  /** The home's virtual servers, as the value of their property; undefined if it has none. */
  readonly virtualServers?: string | undefined
  /** Whether the home was imported from another cluster. */
  readonly isImported?: boolean
}

/** The authenticator and the authorizer that store users and roles, and the user of the servers. */
export const authenticatorName = 'MyBasicMetadataAuthenticator'
export const authorizerName = 'MyBasicMetadataAuthorizer'
export const internalUser = 'svc_system'
export const defaultTier = '_default_tier'

const postgresPort = 15432
const redisPort = 16379
const directoryPort = 10389

/** The ports of the first instance of each role, and the base port for further instances. */
const ports: Record<Role, { plaintext: number; tls: number; further: number }> = {
  coordinator: { plaintext: 8081, tls: 8281, further: 8500 },
  broker: { plaintext: 8082, tls: 8282, further: 8540 },
  historical: { plaintext: 8083, tls: 8283, further: 8100 },
  overlord: { plaintext: 8090, tls: 8290, further: 8580 },
  router: { plaintext: 8888, tls: 9088, further: 8620 },
  worker: { plaintext: 8091, tls: 8291, further: 8460 },
}

/** The port offset of a cluster, derived from the URL of its first router. */
export function portOffsetOf(routerUrl: string): number {
  const { protocol, port } = new URL(routerUrl)
  return Number(port) - (protocol === 'https:' ? ports.router.tls : ports.router.plaintext)
}

/** The difference between the TLS port and the plaintext port of a further instance. */
const furtherTlsDistance = 200

/** Between 8101 and the TLS ports of the first instances, and, for their TLS ports, between 8301 and the ports of workers. */
const maxNearHistoricals = 160

/** The base port of further historicals. Their TLS ports start 200 above it. */
const farHistoricals = 11_100

/** The maximum number of historicals of a cluster, which depends on the number of ports. */
const maxHistoricals = 360

/** Decides which services run, on which ports, with which properties. Throws a Failure if there are too many. */
export function planCluster(options: PlanOptions, surroundings: PlanSurroundings): ClusterPlan {
  const forAll = commonProperties(options, surroundings)
  const services = withExpectedServers(
    planInstances(options).map((entry) => planService(entry, options, forAll, surroundings)),
    forAll,
  )
  checkTargets(options, services)
  const hasTls = services.some(({ properties }) => isOn(forAll, properties, 'svc.enableTlsPort'))
  // Without TLS there are no certificates to trust.
  const trusted = {
    ...trustStore(surroundings.home),
    ...(hasOwnStores(options) ? {} : revocations(surroundings.home)),
  }
  const common = hasTls ? { ...trusted, ...forAll } : forAll
  return {
    options,
    postgresPort: postgresPort + options.portOffset,
    redisPort: redisPort + options.portOffset,
    directoryPort: options.ldap ? directoryPort + options.portOffset : undefined,
    services,
    common,
    hasTls,
    hosts: [...new Set(services.map(({ properties }) => properties['svc.host'] ?? common['svc.host']!))],
    routerUrl: services.find(({ role }) => role === 'router')!.url,
  }
}

const expectedServers = 'svc.coordinator.expectedServers'

/** Lists the servers that must report for coordinators, which do not know a server that hangs while it starts. */
function withExpectedServers(services: readonly ServicePlan[], common: Properties): readonly ServicePlan[] {
  if (expectedServers in common) return services
  const names = services
    .filter(({ role }) => role === 'historical' || role === 'broker')
    // Servers announce themselves without the brackets of IPv6 addresses.
    .map(({ url }) => url.replace(/^https?:\/\//, '').replace(/[[\]]/g, ''))
  return services.map((service) =>
    service.role === 'coordinator'
      ? { ...service, properties: { [expectedServers]: JSON.stringify(names), ...service.properties } }
      : service,
  )
}

/** Every port that the cluster listens on, and its purpose. */
export function portsInUse(plan: ClusterPlan): { port: number; use: string }[] {
  const found = [
    { port: plan.postgresPort, use: 'postgres' },
    { port: plan.redisPort, use: 'redis' },
    ...(plan.directoryPort === undefined ? [] : [{ port: plan.directoryPort, use: 'directory' }]),
  ]
  for (const { instance, plaintextPort, tlsPort, properties } of plan.services) {
    if (isOn(plan.common, properties, 'svc.enablePlaintextPort'))
      found.push({ port: plaintextPort, use: instance })
    if (isOn(plan.common, properties, 'svc.enableTlsPort')) found.push({ port: tlsPort, use: instance })
  }
  return found
}

interface Instance {
  readonly role: Role
  readonly instance: string
  /** Index within the role, from 0. */
  readonly index: number
  readonly tier?: string
}

function planInstances(options: PlanOptions): Instance[] {
  const several = (['router', 'coordinator', 'overlord', 'broker', 'worker'] satisfies CountedRole[]).flatMap(
    (role) =>
      count(options.instances.get(role) ?? (role === 'worker' ? 0 : 1)).map((index) => ({
        role,
        instance: index === 0 ? role : `${role}-${index + 1}`,
        index,
      })),
  )
  const historicals = [...options.historicals].flatMap(([tier, number]) =>
    count(number).map((index) => ({
      tier,
      instance: tier === defaultTier ? `historical-${index + 1}` : `historical-${tier}-${index + 1}`,
    })),
  )
  if (historicals.length > maxHistoricals) {
    throw invalidInput(
      `Too many servers [${historicals.length}] in [--historicals]: expected at most ${maxHistoricals} in total`,
    )
  }
  return [
    ...several,
    ...historicals.map((entry, index) => ({ role: 'historical' as const, index, ...entry })),
  ]
}

function planService(
  { role, instance, index, tier }: Instance,
  options: PlanOptions,
  common: Properties,
  { home, virtualServers, isImported = false }: PlanSurroundings,
): ServicePlan {
  const { plaintextPort, tlsPort } = portsOf(role, index, options.portOffset)
  const forAll = new Set(options.set.filter(({ target }) => target === undefined).map(({ name }) => name))
  const forThis = options.set.filter(({ target }) => target === role || target === instance)
  const fromUser = Object.fromEntries(forThis.map(({ name, value }) => [name, value]))
  const speaksTls = isOn(common, fromUser, 'svc.enableTlsPort')
  const defaults = {
    ...roleProperties(role, instance, tier, home),
    ...(virtualServers === undefined ? {} : virtualProperties(role, virtualServers)),
    ...(isImported ? importedProperties(role, home) : {}),
    ...(speaksTls ? keyStore(instance, home) : {}),
  }
  const properties: Properties = {
    'svc.service': `svc/${role}`,
    ...(isOn(common, fromUser, 'svc.enablePlaintextPort')
      ? { 'svc.plaintextPort': String(plaintextPort) }
      : {}),
    ...(speaksTls ? { 'svc.tlsPort': String(tlsPort) } : {}),
    // This file overrides the common one, so a default here would hide a value that the user set for all services.
    ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !forAll.has(name))),
    ...fromUser,
  }
  return serviceOf({ role, instance, plaintextPort, tlsPort, speaksTls }, common, properties)
}

/** The plan of a worker for a running cluster, whose services have the properties `common`. */
export function planAddedWorker(
  home: HomeLayout,
  common: Properties,
  { instance, port, properties: fromUser }: AddedWorker,
): ServicePlan {
  const speaksTls = isOn(common, fromUser, 'svc.enableTlsPort')
  const properties = {
    'svc.service': 'svc/worker',
    [speaksTls ? 'svc.tlsPort' : 'svc.plaintextPort']: String(port),
    ...roleProperties('worker', instance, undefined, home),
    ...(speaksTls ? keyStore(instance, home) : {}),
    ...fromUser,
  }
  return serviceOf(
    { role: 'worker', instance, plaintextPort: port, tlsPort: port, speaksTls },
    common,
    properties,
  )
}

/** A worker to add to a running cluster. */
export interface AddedWorker {
  readonly instance: string
  /** The port that it listens on. */
  readonly port: number
  readonly properties: Properties
}

function serviceOf(
  {
    speaksTls,
    ...service
  }: Pick<ServicePlan, 'role' | 'instance' | 'plaintextPort' | 'tlsPort'> & { readonly speaksTls: boolean },
  common: Properties,
  properties: Properties,
): ServicePlan {
  const host = properties['svc.host'] ?? common['svc.host']!
  const authority = host.includes(':') ? `[${host}]` : host
  const url = speaksTls
    ? `https://${authority}:${service.tlsPort}`
    : `http://${authority}:${service.plaintextPort}`
  return { ...service, url, properties }
}

function portsOf(role: Role, index: number, offset: number): { plaintextPort: number; tlsPort: number } {
  const { plaintext, tls, further } = ports[role]
  if (index === 0) return { plaintextPort: plaintext + offset, tlsPort: tls + offset }
  const isFar = role === 'historical' && index >= maxNearHistoricals
  const plaintextPort = (isFar ? farHistoricals - maxNearHistoricals : further) + index + offset
  return { plaintextPort, tlsPort: plaintextPort + furtherTlsDistance }
}

function commonProperties(
  options: PlanOptions,
  { home, dataFolder, virtualServers }: PlanSurroundings,
): Properties {
  const fromUser = options.set.filter(({ target }) => target === undefined)
  return {
    'svc.host': '127.0.0.1',
    'svc.metadata.storage.connector.host': '127.0.0.1',
    'svc.metadata.storage.connector.port': String(postgresPort + options.portOffset),
    'svc.metadata.storage.connector.user': postgresUser,
    'svc.metadata.storage.connector.password': secret(home, 'postgres-password'),
    'svc.metadata.storage.connector.database': postgresUser,
    'svc.queue.redis.host': '127.0.0.1',
    'svc.queue.redis.port': String(redisPort + options.portOffset),
    'svc.queue.redis.password': secret(home, 'redis-password'),
    'svc.storage.type': 'local',
    'svc.storage.storageDirectory': home.deepStorage,
    'svc.indexer.logs.directory': home.taskLogs,
    'svc.ingestion.local.allowedRoots': JSON.stringify([home.input, dataFolder]),
    ...(virtualServers === undefined ? {} : { 'svc.simulation.enabled': 'true' }),
    ...(options.profile === 'secure' && !options.hasOwnSecurity ? securityProperties(home) : {}),
    ...(options.ldap
      ? directoryProperties(home, directoryPort + options.portOffset, authenticatorName, authorizerName)
      : {}),
    ...Object.fromEntries(fromUser.map(({ name, value }) => [name, value])),
  }
}

function securityProperties(home: HomeLayout): Properties {
  const authenticator = `svc.auth.authenticator.${authenticatorName}`
  return {
    'svc.extensions.loadList': JSON.stringify(['svc-basic-security', 'simple-client-sslcontext']),
    'svc.enablePlaintextPort': 'false',
    'svc.enableTlsPort': 'true',
    'svc.auth.authenticatorChain': JSON.stringify([authenticatorName]),
    [`${authenticator}.type`]: 'basic',
    [`${authenticator}.initialAdminPassword`]: secret(home, 'admin-password'),
    [`${authenticator}.initialInternalClientPassword`]: secret(home, 'internal-client-password'),
    [`${authenticator}.credentialsValidator.type`]: 'metadata',
    [`${authenticator}.skipOnFailure`]: 'false',
    [`${authenticator}.authorizerName`]: authorizerName,
    'svc.escalator.type': 'basic',
    'svc.escalator.internalClientUsername': internalUser,
    'svc.escalator.internalClientPassword': secret(home, 'internal-client-password'),
    'svc.escalator.authorizerName': authorizerName,
    'svc.auth.authorizers': JSON.stringify([authorizerName]),
    [`svc.auth.authorizer.${authorizerName}.type`]: 'basic',
  }
}

function trustStore(home: HomeLayout): Properties {
  return {
    'svc.client.https.trustStoreType': 'pem',
    'svc.client.https.trustStorePath': trustStoreFile(home.pki),
  }
}

/** The list covers only the home's authority; with it, certificates of any other authority would be rejected. */
function revocations(home: HomeLayout): Properties {
  return { 'svc.client.https.crlPath': revocationFile(home.pki) }
}

/** Whether the user configured key stores or trust stores. */
function hasOwnStores({ set }: PlanOptions): boolean {
  return set.some(({ name }) => /^svc\.(server\.https\.keyStore|client\.https\.trustStore)Path$/.test(name))
}

function keyStore(instance: string, home: HomeLayout): Properties {
  return {
    'svc.server.https.keyStoreType': 'pem',
    'svc.server.https.keyStorePath': keyStoreFile(home.pki, instance),
    'svc.server.https.keyStorePassword': secret(home, 'key-store-password'),
  }
}

function roleProperties(
  role: Role,
  instance: string,
  tier: string | undefined,
  home: HomeLayout,
): Properties {
  const cache = JSON.stringify([{ path: path.join(home.cache, instance), maxSize: '10g' }])
  switch (role) {
    case 'coordinator':
      // Short, so that users who try a rule see its effect.
      return { 'svc.coordinator.period': 'PT5S' }
    case 'overlord':
    case 'worker':
      return { 'svc.worker.capacity': '4', 'svc.indexer.task.baseTaskDir': path.join(home.tasks, instance) }
    case 'broker':
      return {
        'svc.segmentCache.locations': cache,
        'svc.query.directory': path.join(home.query, instance),
      }
    case 'historical':
      return {
        'svc.server.tier': tier ?? defaultTier,
        'svc.server.maxSize': '10g',
        'svc.segmentCache.locations': cache,
      }
    case 'router':
      return {}
  }
}

function checkTargets(options: PlanOptions, services: readonly ServicePlan[]): void {
  for (const { target, name } of options.set) {
    if (target === undefined || services.some(({ role, instance }) => target === role || target === instance))
      continue
    const instances = services.map(({ instance }) => instance).join('], [')
    throw invalidInput(
      `Invalid target [${target}] for property [${name}] in [--set]: expected one of the instances [${instances}], or one of their roles`,
    )
  }
}

/** Properties for a cluster of virtual servers and segments, which have no data that tasks could rewrite. */
function virtualProperties(role: Role, virtualServers: string): Properties {
  if (role === 'historical') return { 'svc.simulation.virtualServers': virtualServers }
  return role === 'overlord' ? { 'svc.worker.capacity': '0' } : {}
}

/** Properties with which an imported cluster starts in the state of its source, and treats it as Druid does. */
function importedProperties(role: Role, home: HomeLayout): Properties {
  if (role === 'historical') return { 'svc.simulation.placementFile': home.placement }
  return role === 'coordinator' ? { 'svc.coordinator.waitBeforeMarkingOvershadowed': 'true' } : {}
}

function isOn(
  common: Properties,
  own: Properties,
  name: 'svc.enablePlaintextPort' | 'svc.enableTlsPort',
): boolean {
  const byDefault = name === 'svc.enablePlaintextPort' ? 'true' : 'false'
  return (own[name] ?? common[name] ?? byDefault) === 'true'
}

/** The value of a property for a password that is stored in a file of the home. */
function secret(home: HomeLayout, name: SecretName): string {
  return JSON.stringify({ type: 'file', path: secretFile(home, name) })
}

function count(number: number): number[] {
  return Array.from({ length: number }, (_, index) => index)
}
