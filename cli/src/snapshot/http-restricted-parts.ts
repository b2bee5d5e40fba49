import { Failure, forbidden } from '@svc/domain/failure'
import { anyDatasource } from '../client/index.ts'
import type { RestrictedPartName, Seen, SegmentRow, ServedSegments } from './snapshot-source.ts'

/** Reads from a cluster. Paths start after the prefix of the cluster, such as `/coordinator/v1/rules`. */
export interface HttpReader {
  /** The JSON document at a path; unseen if the cluster refuses it or does not have it. */
  see(path: string): Promise<Seen<unknown>>
  /** The elements of the JSON list at a path. */
  seeList(path: string): Promise<Seen<AsyncIterable<SegmentRow>>>
  /** Like `see`, for the paths of users and roles, which routers pass on to the coordinator. */
  seeSecurity(path: string): Promise<Seen<unknown>>
}

/** The parts of a cluster that not every user may read. */
export interface HttpRestrictedParts {
  restrictedPart(name: RestrictedPartName): Promise<Seen<unknown>>
  placement(servers: readonly string[]): Promise<Seen<AsyncIterable<ServedSegments>>>
  unusedSegments(): Promise<Seen<AsyncIterable<SegmentRow>>>
}

const segmentsAtOnce = 1000

/** Opens the parts of a cluster that not every user may read. */
export function openHttpRestrictedParts(reader: HttpReader): HttpRestrictedParts {
  const readers: Readonly<Record<RestrictedPartName, () => Promise<unknown>>> = {
    counts: () => readCounts(reader),
    supervisors: () => readSupervisors(reader),
    security: () => readSecurity(reader),
  }
  return {
    restrictedPart: async (name) => {
      try {
        return { value: await readers[name]() }
      } catch (error) {
        if (error instanceof Failure && error.code === 'forbidden') return { unseen: error.message }
        throw error
      }
    },
    placement: (servers) => seePlacement(reader, servers),
    unusedSegments: () => seeUnusedSegments(reader),
  }
}

/** The value of a document. Throws forbidden if it cannot be seen, which ends the part that it belongs to. */
function shownValue(seen: Seen<unknown>): unknown {
  if ('unseen' in seen) throw forbidden(seen.unseen)
  return seen.value
}

/** What the cluster itself counts, to compare with what it lists. */
async function readCounts({ see }: HttpReader): Promise<unknown> {
  const loadStatus = shownValue(await see('/coordinator/v1/loadstatus')) as Record<string, unknown>
  const served = shownValue(await see('/coordinator/v1/datasources?simple')) as ServedDatasource[]
  const servers = shownValue(await see('/coordinator/v1/servers?simple')) as Server[]
  return {
    // Until it restarts, Druid lists datasources whose segments have all become unused: 0 of 0 segments are loaded.
    datasourcesWithUsedSegments: Object.entries(loadStatus)
      .filter(([, percentage]) => percentage !== 'NaN')
      .map(([name]) => name)
      .sort(),
    servedSegments: Object.fromEntries(
      served.map(({ name, properties }) => [name, properties?.segments?.count ?? 0]),
    ),
    usedBytes: Object.fromEntries(
      servers.filter(({ type }) => type === 'historical').map(({ host, currSize }) => [host, currSize]),
    ),
    mayReadEveryDatasource: 'value' in (await see(`/coordinator/v1/rules/${anyDatasource}`)),
  }
}

interface ServedDatasource {
  readonly name: string
  readonly properties?: { readonly segments?: { readonly count?: number } }
}
interface Server {
  readonly host: string
  readonly type: string
  readonly currSize: number
}

async function readSupervisors({ see }: HttpReader): Promise<unknown> {
  const list = shownValue(await see('/indexer/v1/supervisor?full')) as Supervisor[]
  return list.map(({ id, spec, type = spec?.type, suspended }) => ({
    id,
    type,
    // In Druid 37, only the spec says so.
    suspended: suspended === true || spec?.suspended === true,
  }))
}

interface Supervisor {
  readonly id: string
  readonly type?: string
  readonly suspended?: boolean
  readonly spec?: { readonly type?: string; readonly suspended?: boolean }
}

async function readSecurity({ seeSecurity }: HttpReader): Promise<unknown> {
  const see = async (path: string): Promise<unknown> => shownValue(await seeSecurity(path))
  const namesAt = async (path: string) => (await see(path)) as string[]
  const storesAt = async (path: string) => Object.keys((await see(path)) as object)
  const entriesAt = async (path: string, pick: (entry: unknown) => unknown, query = '') => {
    const entries: [string, unknown][] = []
    for (const name of (await namesAt(path)).sort())
      entries.push([name, pick(await see(`${path}/${encodeURIComponent(name)}${query}`))])
    return Object.fromEntries(entries)
  }
  const authenticators: Record<string, unknown> = {}
  for (const store of await storesAt('/authentication/loadStatus'))
    authenticators[store] = (await namesAt(`/authentication/db/${encodeURIComponent(store)}/users`)).sort()
  const authorizers: Record<string, unknown> = {}
  for (const store of await storesAt('/authorization/loadStatus')) {
    const path = `/authorization/db/${encodeURIComponent(store)}`
    authorizers[store] = {
      roles: await entriesAt(
        `${path}/roles`,
        (role) => (role as { permissions: unknown }).permissions,
        '?simplifyPermissions',
      ),
      users: await entriesAt(`${path}/users`, (user) => (user as { roles: unknown }).roles),
      groupMappings: await entriesAt(`${path}/groupMappings`, (mapping) => {
        const { groupPattern, roles } = mapping as { groupPattern: unknown; roles: unknown }
        return { groupPattern, roles }
      }),
    }
  }
  return { authenticators, authorizers }
}

/** Reads the first server at once, to find out whether the user may see any. */
async function seePlacement(
  { seeList }: HttpReader,
  servers: readonly string[],
): Promise<Seen<AsyncIterable<ServedSegments>>> {
  const [first] = servers
  const listOf = (server: string) => seeList(`/coordinator/v1/servers/${encodeURIComponent(server)}/segments`)
  const found = first === undefined ? undefined : await listOf(first)
  if (found && 'unseen' in found) return found
  async function* lists() {
    for (const server of servers) {
      const list = server === first && found ? found : await listOf(server)
      // The server may have left since the servers were listed.
      if ('unseen' in list) continue
      yield* batchesOf(server, list.value)
    }
  }
  return { value: lists() }
}

async function* batchesOf(server: string, ids: AsyncIterable<SegmentRow>): AsyncGenerator<ServedSegments> {
  let segments: string[] = []
  for await (const { value } of ids) {
    segments.push(String(value))
    if (segments.length < segmentsAtOnce) continue
    yield { server, segments }
    segments = []
  }
  if (segments.length > 0) yield { server, segments }
}

async function seeUnusedSegments({ see, seeList }: HttpReader): Promise<Seen<AsyncIterable<SegmentRow>>> {
  const path = '/coordinator/v1/metadata/datasources'
  const names = await see(`${path}?includeUnused`)
  if ('unseen' in names) return names
  async function* all() {
    for (const name of (names as { value: string[] }).value) {
      const list = await seeList(`${path}/${encodeURIComponent(name)}/unusedSegments`)
      if ('unseen' in list) yield { row: 0, problem: `Unused segments of [${name}]: ${list.unseen}` }
      else yield* list.value
    }
  }
  return { value: all() }
}
