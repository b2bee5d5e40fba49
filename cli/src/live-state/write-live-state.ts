import { Failure, forbidden } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'
import type { Change } from '../declared-state/index.ts'
import { postRules } from '../rules/index.ts'
import { coordinatorPath, entryPath } from './paths.ts'
import type { VersionedValue } from './read-live-state.ts'
import { writeCompactionCluster } from './write-compaction-cluster.ts'

type Headers = Readonly<Record<string, string>>

/** What is needed to apply changes. */
export interface WriteContext {
  readonly client: ClusterClient
  /** Author and comment for the audit history. */
  readonly headers: Headers
  /** Passwords of new users, by the key of the path of the change. */
  readonly passwordOf: (change: Change) => string | undefined
  /** Whether a cluster of svc must change rules even if its policy forbids it. */
  readonly overridesPolicy?: boolean
}

/**
 * Applies a change to an entry with this current value, which may be between the two values of the change. Throws conflict if
 * a cluster of svc no longer has the version of the value.
 */
export async function writeEntry(
  context: WriteContext,
  change: Change,
  { value: present, version }: VersionedValue,
): Promise<void> {
  const { client, headers } = context
  const { kind, path, after } = change
  const at = entryPath(kind, path)
  let required = requiredVersion(version)
  const send = (method: 'POST' | 'DELETE', to: string, body?: unknown) => {
    const request = client.send(method, to, body, { ...headers, ...required })
    // The first request of several changes the version.
    required = {}
    return request
  }
  switch (kind) {
    case 'rules':
      await postRules(client, at, after ?? [], {
        headers: { ...headers, ...required },
        overridesPolicy: context.overridesPolicy,
      })
      return
    case 'compactionDatasources':
      if (after === undefined) await send('DELETE', at)
      else await send('POST', at, { ...(after as object), dataSource: path.at(-1) })
      return
    case 'coordinator':
    case 'compactionCluster':
      await writeFields(context, [change], version)
      return
    default:
      break
  }
  if (after === undefined) {
    await send('DELETE', at)
    return
  }
  if (kind === 'groupMappings') {
    await writeGroupMapping(send, at, after as GroupMapping, present as GroupMapping | undefined)
    return
  }
  if (present === undefined) await send('POST', at)
  if (kind === 'roles') await send('POST', `${at}/permissions`, after)
  if (kind === 'users') await writeRoles(send, at, after as string[], (present ?? []) as string[])
  const password = kind === 'logins' ? context.passwordOf(change) : undefined
  if (password !== undefined) await send('POST', `${at}/credentials`, { password })
}

/** The header that makes a request fail with a conflict unless the version is still the current one. */
const requiredVersion = (version: string | undefined): Headers =>
  version === undefined ? {} : { 'If-Match': version }

type Send = (method: 'POST' | 'DELETE', path: string, body?: unknown) => Promise<unknown>

interface GroupMapping {
  readonly groupPattern: string
  readonly roles?: readonly string[]
}

async function writeGroupMapping(
  send: Send,
  at: string,
  { groupPattern, roles = [] }: GroupMapping,
  present: GroupMapping | undefined,
): Promise<void> {
  const isKept = present?.groupPattern === groupPattern
  if (present !== undefined && !isKept) await send('DELETE', at)
  if (!isKept)
    await send('POST', at, { name: decodeURIComponent(at.split('/').at(-1)!), groupPattern, roles: [] })
  await writeRoles(send, at, roles, (isKept ? present.roles : undefined) ?? [])
}

async function writeRoles(
  send: Send,
  at: string,
  after: readonly string[],
  present: readonly string[],
): Promise<void> {
  for (const role of new Set(after))
    if (!present.includes(role)) await send('POST', `${at}/roles/${encodeURIComponent(role)}`)
  for (const role of present)
    if (!after.includes(role)) await send('DELETE', `${at}/roles/${encodeURIComponent(role)}`)
}

/** Applies changes of fields of one configuration in one request, if it has this version. Other fields keep their values. */
export async function writeFields(
  { client, headers }: WriteContext,
  changes: readonly Change[],
  version: string | undefined,
): Promise<void> {
  const fields = Object.fromEntries(changes.map(({ path, after }) => [path.at(-1)!, after]))
  if (changes[0]!.kind === 'coordinator')
    await client.send('POST', coordinatorPath, fields, { ...headers, ...requiredVersion(version) })
  else await writeCompactionCluster(client, fields, headers, version)
}

// No endpoint accepts it, and all check the permission first.
const invalidBody = 'probe'

/** Throws forbidden, with all that is missing, unless the user may make all changes. Changes nothing. */
export async function assertMayWrite(client: ClusterClient, changes: readonly Change[]): Promise<void> {
  const paths = new Map(changes.map((change) => [probePath(change), change.path]))
  const missing: string[] = []
  for (const [path, entry] of paths) {
    await client.send('POST', path, invalidBody).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
      if (error.code === 'forbidden') missing.push(`[${entry.join('.')}]`)
      else if (error.code === 'unauthorized') throw error
    })
  }
  if (missing.length > 0)
    throw forbidden(`Nothing was applied: the user has no permission to change ${missing.join(', ')}`)
}

/** A path with a body that needs the same permission as a change. */
function probePath({ kind, path }: Change): string {
  const at = entryPath(kind, path)
  if (kind === 'roles') return `${at}/permissions`
  if (kind === 'logins') return `${at}/credentials`
  // All users, roles, and group mappings of an authorizer need one permission.
  return kind === 'users' ? `${entryPath('roles', path)}/permissions` : at
}
