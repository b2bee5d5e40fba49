import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import { type HomeLayout, type SecretName, secretFile } from '../home/index.ts'
import { directoryProperties } from '../ldap/index.ts'
import { keyStoreFile, revocationFile, trustStoreFile } from '../pki/index.ts'
import { POSTGRES_USER } from '../postgres/index.ts'
import type { CountedRole, PlanOptions, Role } from './options.ts'

/** Properties of a service by name. */
export type Properties = Readonly<Record<string, string>>

/** One service of a planned cluster. */
export interface ServicePlan {
  readonly role: Role
  readonly instance: string
  readonly plaintextPort: number
  readonly tlsPort: number
  /** Where it is reached, over TLS when it has that. */
  readonly url: string
  /** What stands in its own `runtime.properties`. */
  readonly properties: Properties
}

/** A cluster as it shall run; made from options alone. */
export interface ClusterPlan {
  readonly options: PlanOptions
  readonly postgresPort: number
  readonly redisPort: number
  /** The port of the sample directory; undefined where there is none. */
  readonly directoryPort: number | undefined
  readonly services: readonly ServicePlan[]
  /** What stands in `common.runtime.properties`. */
  readonly common: Properties
  /** Whether any service speaks TLS, which takes certificates. */
  readonly hasTls: boolean
  /** The hosts under which services are reached. */
  readonly hosts: readonly string[]
  readonly routerUrl: string
}

/** What the plan has to know of its surroundings. */
export interface PlanSurroundings {
  readonly home: HomeLayout
  /** A folder with data that may be ingested, besides the home's own. */
  readonly dataFolder: string
  /** Where the home's servers are virtual: these, as their property has them. */
  readonly virtualServers?: string | undefined
}

const AUTHENTICATOR = 'MyBasicMetadataAuthenticator'
const AUTHORIZER = 'MyBasicMetadataAuthorizer'
const INTERNAL_USER = 'svc_system'
const DEFAULT_TIER = '_default_tier'

const POSTGRES_PORT = 15432
const REDIS_PORT = 16379
const DIRECTORY_PORT = 10389

/** The port of the first instance of each role, and the one that further instances count on from. */
const ports: Record<Role, { plaintext: number; tls: number; further: number }> = {
  coordinator: { plaintext: 8081, tls: 8281, further: 8500 },
  broker: { plaintext: 8082, tls: 8282, further: 8540 },
  historical: { plaintext: 8083, tls: 8283, further: 8100 },
  overlord: { plaintext: 8090, tls: 8290, further: 8580 },
  router: { plaintext: 8888, tls: 9088, further: 8620 },
  worker: { plaintext: 8091, tls: 8291, further: 8460 },
}

/** What was added to the ports of a cluster, told by the address of its first router. */
export function portOffsetOf(routerUrl: string): number {
  const { protocol, port } = new URL(routerUrl)
  return Number(port) - (protocol === 'https:' ? ports.router.tls : ports.router.plaintext)
}

/** The TLS port of a further instance lies this much above its plaintext port. */
const FURTHER_TLS_DISTANCE = 200

/** Between 8101 and the TLS ports of the first instances is room for so many. */
const MOST_HISTORICALS = 180

/** Decides which services run, on which ports, with which properties. Throws a Failure when they are too many. */
export function planCluster(options: PlanOptions, surroundings: PlanSurroundings): ClusterPlan {
  const forAll = commonProperties(options, surroundings)
  const services = planInstances(options).map((entry) => planService(entry, options, forAll, surroundings))
  checkTargets(options, services)
  const hasTls = services.some(({ properties }) => isOn(forAll, properties, 'svc.enableTlsPort'))
  // Where nobody shows a certificate there is none to trust.
  const trusted = {
    ...trustStore(surroundings.home),
    ...(hasOwnStores(options) ? {} : revocations(surroundings.home)),
  }
  const common = hasTls ? { ...trusted, ...forAll } : forAll
  return {
    options,
    postgresPort: POSTGRES_PORT + options.portOffset,
    redisPort: REDIS_PORT + options.portOffset,
    directoryPort: options.ldap ? DIRECTORY_PORT + options.portOffset : undefined,
    services,
    common,
    hasTls,
    hosts: [...new Set(services.map(({ properties }) => properties['svc.host'] ?? common['svc.host']!))],
    routerUrl: services.find(({ role }) => role === 'router')!.url,
  }
}

/** Every port that the cluster listens on and what for. */
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
  /** Counts within the role, from 0. */
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
      instance: tier === DEFAULT_TIER ? `historical-${index + 1}` : `historical-${tier}-${index + 1}`,
    })),
  )
  if (historicals.length > MOST_HISTORICALS) {
    throw invalidInput(
      `Option --historicals asks for [${historicals.length}] servers, allowed are up to ${MOST_HISTORICALS}`,
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
  { home, virtualServers }: PlanSurroundings,
): ServicePlan {
  const { plaintextPort, tlsPort } = portsOf(role, index, options.portOffset)
  const forAll = new Set(options.set.filter(({ target }) => target === undefined).map(({ name }) => name))
  const forThis = options.set.filter(({ target }) => target === role || target === instance)
  const fromUser = Object.fromEntries(forThis.map(({ name, value }) => [name, value]))
  const speaksTls = isOn(common, fromUser, 'svc.enableTlsPort')
  const defaults = {
    ...roleProperties(role, instance, tier, home),
    ...(virtualServers === undefined ? {} : rehearsalProperties(role, virtualServers)),
    ...(speaksTls ? keyStore(instance, home) : {}),
  }
  const properties: Properties = {
    'svc.service': `svc/${role}`,
    ...(isOn(common, fromUser, 'svc.enablePlaintextPort')
      ? { 'svc.plaintextPort': String(plaintextPort) }
      : {}),
    ...(speaksTls ? { 'svc.tlsPort': String(tlsPort) } : {}),
    // This file wins over the common one, so a default here would hide what the user has set for all.
    ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !forAll.has(name))),
    ...fromUser,
  }
  return serviceOf({ role, instance, plaintextPort, tlsPort, speaksTls }, common, properties)
}

/** A worker that is added to a running cluster, whose services have the properties `common`. */
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

/** What is known of a worker that is to be added. */
export interface AddedWorker {
  readonly instance: string
  /** Where it listens. */
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
  const plaintextPort = further + index + offset
  return { plaintextPort, tlsPort: plaintextPort + FURTHER_TLS_DISTANCE }
}

function commonProperties(
  options: PlanOptions,
  { home, dataFolder, virtualServers }: PlanSurroundings,
): Properties {
  const fromUser = options.set.filter(({ target }) => target === undefined)
  return {
    'svc.host': '127.0.0.1',
    'svc.metadata.storage.connector.host': '127.0.0.1',
    'svc.metadata.storage.connector.port': String(POSTGRES_PORT + options.portOffset),
    'svc.metadata.storage.connector.user': POSTGRES_USER,
    'svc.metadata.storage.connector.password': secret(home, 'postgres-password'),
    'svc.metadata.storage.connector.database': POSTGRES_USER,
    'svc.queue.redis.host': '127.0.0.1',
    'svc.queue.redis.port': String(REDIS_PORT + options.portOffset),
    'svc.queue.redis.password': secret(home, 'redis-password'),
    'svc.storage.type': 'local',
    'svc.storage.storageDirectory': home.deepStorage,
    'svc.indexer.logs.directory': home.taskLogs,
    'svc.ingestion.local.allowedRoots': JSON.stringify([home.input, dataFolder]),
    ...(virtualServers === undefined ? {} : { 'svc.simulation.enabled': 'true' }),
    ...(options.profile === 'secure' ? securityProperties(home) : {}),
    ...(options.ldap
      ? directoryProperties(home, DIRECTORY_PORT + options.portOffset, AUTHENTICATOR, AUTHORIZER)
      : {}),
    ...Object.fromEntries(fromUser.map(({ name, value }) => [name, value])),
  }
}

function securityProperties(home: HomeLayout): Properties {
  const authenticator = `svc.auth.authenticator.${AUTHENTICATOR}`
  return {
    'svc.extensions.loadList': '["svc-basic-security","simple-client-sslcontext"]',
    'svc.enablePlaintextPort': 'false',
    'svc.enableTlsPort': 'true',
    'svc.auth.authenticatorChain': JSON.stringify([AUTHENTICATOR]),
    [`${authenticator}.type`]: 'basic',
    [`${authenticator}.initialAdminPassword`]: secret(home, 'admin-password'),
    [`${authenticator}.initialInternalClientPassword`]: secret(home, 'internal-client-password'),
    [`${authenticator}.credentialsValidator.type`]: 'metadata',
    [`${authenticator}.skipOnFailure`]: 'false',
    [`${authenticator}.authorizerName`]: AUTHORIZER,
    'svc.escalator.type': 'basic',
    'svc.escalator.internalClientUsername': INTERNAL_USER,
    'svc.escalator.internalClientPassword': secret(home, 'internal-client-password'),
    'svc.escalator.authorizerName': AUTHORIZER,
    'svc.auth.authorizers': JSON.stringify([AUTHORIZER]),
    [`svc.auth.authorizer.${AUTHORIZER}.type`]: 'basic',
  }
}

function trustStore(home: HomeLayout): Properties {
  return {
    'svc.client.https.trustStoreType': 'pem',
    'svc.client.https.trustStorePath': trustStoreFile(home.pki),
  }
}

/** The list is of the home's authority, and says nothing about certificates of others: there nobody would be let in. */
function revocations(home: HomeLayout): Properties {
  return { 'svc.client.https.crlPath': revocationFile(home.pki) }
}

/** Whether the user has key stores or trust stores from elsewhere. */
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
      // Short, so that someone who tries a rule sees what it does.
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
        'svc.server.tier': tier ?? DEFAULT_TIER,
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
      `Option --set has [${name}] for [${target}], which does not run; there are [${instances}]`,
    )
  }
}

/** What a cluster of virtual servers and segments needs: there are no bytes that tasks could rewrite. */
function rehearsalProperties(role: Role, virtualServers: string): Properties {
  if (role === 'historical') return { 'svc.simulation.virtualServers': virtualServers }
  return role === 'overlord' ? { 'svc.worker.capacity': '0' } : {}
}

function isOn(
  common: Properties,
  own: Properties,
  name: 'svc.enablePlaintextPort' | 'svc.enableTlsPort',
): boolean {
  const byDefault = name === 'svc.enablePlaintextPort' ? 'true' : 'false'
  return (own[name] ?? common[name] ?? byDefault) === 'true'
}

/** A password that stands in a file of the home, as a property names it. */
function secret(home: HomeLayout, name: SecretName): string {
  return JSON.stringify({ type: 'file', path: secretFile(home, name) })
}

function count(number: number): number[] {
  return Array.from({ length: number }, (_, index) => index)
}
