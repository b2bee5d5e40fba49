import { Failure } from '@svc/domain/failure'
import { isJsonObject, type JsonObject } from '@svc/domain/validation'
import type { ClusterClient } from '../client/index.ts'
import { keyOf, type LiveState, type Section, type SectionKind } from '../declared-state/index.ts'
import {
  compactionClusterPath,
  compactionDatasourcesPath,
  coordinatorPath,
  entryPath,
  rulesPath,
  sectionPath,
  storesPath,
} from './paths.ts'

/** The parts of a configuration that can be read on their own: the first key of the path of sections. */
export const partNames = ['rules', 'compaction', 'coordinator', 'authorizers', 'authenticators'] as const
export type PartName = (typeof partNames)[number]

/** Reads some parts of the configuration of a cluster. What the user may not read is unseen. */
export async function readLiveState(
  client: ClusterClient,
  parts: ReadonlySet<string> = new Set(partNames),
): Promise<LiveState> {
  const sections = new Map<string, Section>()
  const unseen = new Map<string, string>()
  for (const part of partNames) {
    if (!parts.has(part)) continue
    for (const { path, read } of await sectionsOf(client, part, unseen)) {
      const section = await orUnseen(path, unseen, read)
      if (section !== undefined) sections.set(keyOf(path), { ...section, path })
    }
  }
  return { sections, unseen }
}

interface SectionToRead {
  readonly path: readonly string[]
  readonly read: () => Promise<Omit<Section, 'path'>>
}

async function sectionsOf(
  client: ClusterClient,
  part: PartName,
  unseen: Map<string, string>,
): Promise<SectionToRead[]> {
  const get = async (path: string): Promise<JsonObject> => (await client.send('GET', path)) as JsonObject
  switch (part) {
    case 'rules':
      return [{ path: ['rules'], read: async () => sectionOf('rules', await get(rulesPath)) }]
    case 'coordinator':
      return [
        { path: ['coordinator'], read: async () => sectionOf('coordinator', await get(coordinatorPath)) },
      ]
    case 'compaction':
      return [
        {
          path: ['compaction', 'cluster'],
          read: async () => sectionOf('compactionCluster', await get(compactionClusterPath)),
        },
        {
          path: ['compaction', 'datasources'],
          read: async () => compactionSection(await get(compactionDatasourcesPath)),
        },
      ]
    default:
      return await storedSections(client, part, unseen)
  }
}

const sectionOf = (kind: SectionKind, json: JsonObject): Omit<Section, 'path'> => ({
  kind,
  entries: new Map(Object.entries(json)),
})

function compactionSection({ compactionConfigs }: JsonObject): Omit<Section, 'path'> {
  const configs = compactionConfigs as (JsonObject & { readonly dataSource: string })[]
  const entries = configs.map(({ dataSource, ...config }) => [dataSource, config] as const)
  return { kind: 'compactionDatasources', entries: new Map(entries) }
}

async function storedSections(
  client: ClusterClient,
  part: 'authorizers' | 'authenticators',
  unseen: Map<string, string>,
): Promise<SectionToRead[]> {
  const isLogin = part === 'authenticators'
  const names = await orUnseen([part], unseen, async () => {
    const path = `${storesPath(isLogin ? 'authentication' : 'authorization')}/loadStatus`
    return Object.keys((await client.send('GET', path)) as object).sort()
  })
  const kinds = isLogin ? (['logins'] as const) : (['roles', 'users', 'groupMappings'] as const)
  return (names ?? []).flatMap((store) =>
    kinds.map((kind) => ({
      path: [part, store, kind === 'logins' ? 'users' : kind],
      read: async () => {
        const list = (await client.send('GET', sectionPath(kind, store))) as string[]
        const entries = new Map<string, unknown>()
        for (const name of list.sort()) {
          const value = await readEntry(client, kind, [part, store, '', name])
          // It may be removed in the meantime.
          if (value !== undefined) entries.set(name, value)
        }
        return { kind, entries }
      },
    })),
  )
}

async function orUnseen<Value>(
  path: readonly string[],
  unseen: Map<string, string>,
  read: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await read()
  } catch (error) {
    // Clusters without stored users do not have their paths.
    if (!(error instanceof Failure) || !['forbidden', 'notFound'].includes(error.code)) throw error
    unseen.set(keyOf(path), error.message)
    return undefined
  }
}

/** Returns the current value of one entry; undefined if there is none. */
async function readEntry(
  client: ClusterClient,
  kind: SectionKind,
  path: readonly string[],
): Promise<unknown> {
  return (await readVersioned(client, kind, path)).value
}

/** The current value of an entry. */
export interface VersionedValue {
  /** Undefined if there is none. */
  readonly value: unknown
  /** Changes with the value, or with the part of the configuration that it belongs to. Druid has no versions. */
  readonly version: string | undefined
}

/** Returns the current value of one entry with its version, which a change can require. */
export async function readVersioned(
  client: ClusterClient,
  kind: SectionKind,
  path: readonly string[],
): Promise<VersionedValue> {
  const query = kind === 'roles' ? '?simplifyPermissions' : ''
  const found = await client
    .request('GET', `${entryPath(kind, path)}${query}`)
    .catch((error: unknown) => undefinedIfMissing(error))
  if (found === undefined) return { value: undefined, version: undefined }
  return { value: valueIn(kind, path, found.body as JsonObject), version: found.headers.etag }
}

/** The value of an entry in the answer of a cluster. */
export function valueIn(kind: SectionKind, path: readonly string[], json: JsonObject): unknown {
  switch (kind) {
    case 'coordinator':
    case 'compactionCluster':
      return json[path.at(-1)!]
    case 'compactionDatasources': {
      const { dataSource: _, ...config } = json
      return config
    }
    case 'roles':
      return json.permissions
    case 'users':
      return json.roles ?? []
    case 'groupMappings':
      return { groupPattern: json.groupPattern, roles: json.roles ?? [] }
    case 'logins':
      return isJsonObject(json) && (json.credentials ?? null) === null ? { hasPassword: false } : {}
    default:
      return json
  }
}

/** Druid answers with status 400 if a user, role, or group mapping does not exist. */
function undefinedIfMissing(error: unknown): undefined {
  const isMissing =
    error instanceof Failure && (error.code === 'notFound' || /does not exist/.test(error.message))
  if (!isMissing) throw error
}
