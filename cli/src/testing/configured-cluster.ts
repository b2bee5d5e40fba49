import { conflict, forbidden, invalidInput, notFound, unavailable } from '@svc/domain/failure'
import { setField } from '@svc/domain/json'
import { isJsonObject, type JsonObject } from '@svc/domain/validation'
import type { ClusterClient } from '../client/index.ts'

/** The configuration of a cluster for tests, as JSON. */
export interface ClusterConfiguration {
  rules: Record<string, unknown>
  coordinator: Record<string, unknown>
  compactionCluster: Record<string, unknown>
  compaction: Record<string, JsonObject>
  roles: Record<string, unknown[]>
  users: Record<string, string[]>
  groupMappings: Record<string, { groupPattern: unknown; roles: string[] }>
  /** Passwords by user; null without one. */
  logins: Record<string, string | null>
}

/** A client whose cluster is an object. */
export interface ConfiguredCluster extends ClusterClient {
  readonly configuration: ClusterConfiguration
  /** The changes so far, such as `POST /svc/coordinator/v1/rules/wiki`. */
  readonly written: string[]
  /** Requests that change something fail, beginning with this number. */
  failAfter: number
  /** Paths that may not be changed. With the parameter in it, a path may not be changed against the policy. */
  readonly denied: Set<string>
  /** Datasources that the user may not read; lists leave them out. */
  readonly hidden: Set<string>
}

const security = '/proxy/coordinator/svc-ext/basic-security'
const authorizer = `${security}/authorization/db/basic`
const authenticator = `${security}/authentication/db/basic`

/** A client for tests of the configuration: it stores what is sent, and checks nothing but what Druid checks. */
export function configuredCluster(initial: Partial<ClusterConfiguration> = {}): ConfiguredCluster {
  const configuration: ClusterConfiguration = {
    rules: { _default: [{ type: 'loadForever' }] },
    coordinator: { maxSegmentsToMove: 100, decommissioningNodes: [], debugDimensions: null },
    compactionCluster: { compactionTaskSlotRatio: 0.1, maxCompactionTaskSlots: 10, useSupervisors: false },
    compaction: {},
    roles: {},
    users: {},
    groupMappings: {},
    logins: {},
    ...structuredClone(initial),
  }
  const written: string[] = []
  const history = createHistory()
  // Each change changes the versions of everything.
  const versionNow = (): string => `"${written.length}"`
  const cluster: ConfiguredCluster = {
    routerUrl: 'http://router',
    interfaceName: 'svc',
    configuration,
    written,
    failAfter: Number.POSITIVE_INFINITY,
    denied: new Set(),
    hidden: new Set(),
    send: async (method, fullPath, body, headers = {}) => {
      const path = fullPath.split('?')[0]!
      const json = body === undefined ? undefined : (JSON.parse(JSON.stringify(body)) as unknown)
      const [, part] = below(path, rulesPath) ?? []
      if (path.endsWith('/history')) return history.of(path)
      if (method === 'GET') {
        const datasource = below(path, rulesPath)?.[0] ?? below(path, `${compactionPath}/datasources`)?.[0]
        const isUnknown = datasource !== undefined && !Object.hasOwn(configuration.rules, datasource)
        if (cluster.hidden.has(datasource ?? '') || (cluster.hidden.size > 0 && isUnknown))
          throw forbidden(`Missing permission (${method} ${path})`)
        return structuredClone(read(readable(configuration, cluster.hidden), path))
      }
      if ([...cluster.denied].some((one) => fullPath.startsWith(one)))
        throw forbidden(`Denied (${method} ${path})`)
      if (json === 'probe') throw invalidInput('Invalid body')
      if (written.length >= cluster.failAfter) throw unavailable('The connection was lost')
      if (![undefined, versionNow()].includes(headers['If-Match'])) throw conflict('Another version')
      if (headers['If-None-Match'] === '*' && exists(configuration, path)) throw conflict('It exists')
      if (method === 'POST' && isNewEntry(path) && exists(configuration, path))
        throw invalidInput(`[${path}] already exists`)
      written.push(`${method} ${path}${fullPath.slice(path.length)}`)
      if (part === 'markUsed') return { numChangedSegments: 1, next: null }
      write(configuration, method, path, json)
      if (method === 'POST')
        history.add(path, path === coordinatorPath ? configuration.coordinator : json, headers)
      return null
    },
    request: async (...given) => {
      const headers = { etag: versionNow() }
      return { status: 200, headers, body: await cluster.send(...given) }
    },
  }
  return cluster
}

/** What a user may read who may not read some datasources. */
const readable = (all: ClusterConfiguration, hidden: ReadonlySet<string>): ClusterConfiguration => ({
  ...all,
  rules: Object.fromEntries(Object.entries(all.rules).filter(([name]) => !hidden.has(name))),
  compaction: Object.fromEntries(Object.entries(all.compaction).filter(([name]) => !hidden.has(name))),
})

/** The changes so far, as the histories of rules, of the coordinator's configuration, and of compaction show them. */
function createHistory() {
  const changes: { readonly path: string; readonly entry: object }[] = []
  return {
    add: (path: string, value: unknown, headers: Readonly<Record<string, string>>): void => {
      const id = changes.length + 1
      const auditInfo = { comment: headers['X-Svc-Comment'] ?? '' }
      const auditTime = new Date(id).toISOString()
      const payload = path.startsWith(compactionPath)
        ? { compactionConfig: value }
        : { payload: JSON.stringify(value) }
      changes.push({ path, entry: { id, auditTime, auditInfo, ...structuredClone(payload) } })
    },
    of: (path: string): unknown => {
      const entries = changes.filter((one) => `${one.path}/history` === path).map(({ entry }) => entry)
      return path.startsWith(compactionPath) ? { entries: entries.toReversed() } : entries.toReversed()
    },
  }
}

/** The parts after a path; undefined if it is not below it. */
function below(path: string, base: string): string[] | undefined {
  if (!path.startsWith(`${base}/`)) return undefined
  return path
    .slice(base.length + 1)
    .split('/')
    .map(decodeURIComponent)
}

const rulesPath = '/svc/coordinator/v1/rules'
const coordinatorPath = '/svc/coordinator/v1/config'
const compactionPath = '/svc/indexer/v1/compaction/config'

function read(all: ClusterConfiguration, path: string): unknown {
  switch (path) {
    case rulesPath:
      return all.rules
    case coordinatorPath:
      return all.coordinator
    case `${compactionPath}/cluster`:
      return all.compactionCluster
    case `${compactionPath}/datasources`:
      return { compactionConfigs: Object.values(all.compaction) }
    case '/svc/coordinator/v1/clusterId':
      return { id: 'test-cluster' }
    case '/proxy/coordinator/status/properties':
      return { 'svc.auth.credentials.minLength': '5' }
    case '/svc/coordinator/v1/metadata/datasources':
      return Object.keys(all.rules)
    case `${security}/authorization/loadStatus`:
    case `${security}/authentication/loadStatus`:
      return { basic: {} }
    default:
      break
  }
  const [dataSource] = below(path, rulesPath) ?? []
  if (dataSource !== undefined) return Object.hasOwn(all.rules, dataSource) ? all.rules[dataSource] : []
  const [, compacted] = below(path, compactionPath) ?? []
  if (compacted !== undefined) return existing(all.compaction, compacted)
  const [kind, name] = below(path, authorizer) ?? []
  if (kind === undefined) {
    const [, user] = below(path, authenticator) ?? []
    if (user === undefined) return Object.keys(all.logins)
    return { name: user, credentials: existing(all.logins, user) }
  }
  const entries = all[kind as 'roles' | 'users' | 'groupMappings'] as Record<string, unknown>
  if (name === undefined) return Object.keys(entries)
  const entry = existing(entries, name)
  if (kind === 'roles') return { name, permissions: entry }
  return kind === 'users' ? { name, roles: entry } : { name, ...(entry as object) }
}

function exists(all: ClusterConfiguration, path: string): boolean {
  try {
    read(all, path)
    return true
  } catch {
    return false
  }
}

/** Whether a request to a path creates a user, role, or group mapping. */
const isNewEntry = (path: string): boolean =>
  [below(path, authorizer), below(path, authenticator)].some((parts) => parts?.length === 2)

function existing<Value>(entries: Record<string, Value>, name: string): Value {
  if (!Object.hasOwn(entries, name)) throw notFound(`[${name}] does not exist`)
  return entries[name]!
}

function write(all: ClusterConfiguration, method: string, path: string, body: unknown): void {
  const [dataSource] = below(path, rulesPath) ?? []
  const [, compacted] = below(path, compactionPath) ?? []
  if (dataSource !== undefined) setField(all.rules, dataSource, body)
  else if (path === coordinatorPath) all.coordinator = { ...all.coordinator, ...(body as object) }
  else if (path === `${compactionPath}/cluster`) all.compactionCluster = { ...(body as object) }
  else if (compacted !== undefined && method === 'DELETE') delete all.compaction[compacted]
  else if (compacted !== undefined) setField(all.compaction, compacted, body)
  else writeSecurity(all, method, path, body)
}

function writeSecurity(all: ClusterConfiguration, method: string, path: string, body: unknown): void {
  const [, login, credentials] = below(path, authenticator) ?? []
  if (login !== undefined) {
    if (method === 'DELETE') delete all.logins[login]
    else if (credentials === undefined) setField(all.logins, login, null)
    else setField(all.logins, login, String(isJsonObject(body) && body.password))
    return
  }
  const [kind, name, part, role] = below(path, authorizer) as [
    'roles' | 'users' | 'groupMappings',
    string,
    string?,
    string?,
  ]
  if (part === 'permissions') setField(all.roles, name, body)
  else if (role !== undefined) {
    const list = kind === 'users' ? all.users[name]! : all.groupMappings[name]!.roles
    if (method === 'POST') list.push(role)
    else list.splice(list.indexOf(role), 1)
  } else if (method === 'DELETE') delete all[kind][name]
  else if (kind === 'groupMappings')
    setField(all.groupMappings, name, { groupPattern: (body as JsonObject).groupPattern, roles: [] })
  else setField(all[kind], name, [])
}
