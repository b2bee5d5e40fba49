import { conflict, Failure } from '@svc/domain/failure'
import { canonicalJson } from '@svc/domain/json'
import type { ClusterClient } from '../client/index.ts'
import { type Change, differ, fieldAt } from '../declared-state/index.ts'
import { entryPath } from './paths.ts'
import { readVersioned, type VersionedValue } from './read-live-state.ts'
import { type Headers, requiredVersion } from './required-version.ts'

/** One of the requests that change a user, role, or group mapping. */
interface EntryRequest {
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  /** The value of the entry after the request. */
  readonly result: unknown
}

/**
 * Changes a user, role, or group mapping with this current value, in several requests if necessary. Throws conflict if a cluster of
 * svc no longer has the version of the value, or if someone else changes the entry between two requests.
 */
export async function writeAccessEntry(
  client: ClusterClient,
  change: Change,
  present: VersionedValue,
  { headers, password }: { readonly headers: Headers; readonly password: string | undefined },
): Promise<void> {
  const requests = [...requestsFor(change, present.value, password)]
  let { version } = present
  for (const [index, { method, path, body, result }] of requests.entries()) {
    await client
      .send(method, path, body, { ...headers, ...requiredVersion(version) })
      .catch((error: unknown) => conflictIfCreated(error, change))
    if (index < requests.length - 1) version = await versionAfter(client, change, result)
  }
}

/** Returns the version of an entry that a request has just changed. Druid has no versions. */
async function versionAfter(
  client: ClusterClient,
  { kind, path }: Change,
  expected: unknown,
): Promise<string | undefined> {
  if (client.interfaceName === 'druid') return undefined
  const { value, version } = await readVersioned(client, kind, path)
  // Whether a user has a password is not a difference of declared states.
  const isOther =
    kind === 'logins'
      ? canonicalJson(value) !== canonicalJson(expected)
      : differ(kind, path.at(-1)!, value, expected)
  if (isOther) throw changedMeanwhile(path)
  return version
}

/** Someone else may create an entry after it was found missing. */
function conflictIfCreated(error: unknown, { path }: Change): never {
  if (error instanceof Failure && /already exists/.test(error.message)) throw changedMeanwhile(path)
  throw error
}

/** The Failure for an entry that someone else has changed. */
export const changedMeanwhile = (path: readonly string[]): Failure =>
  conflict(`[${fieldAt(path)}] was changed by someone else in the meantime`)

function* requestsFor(
  { kind, path, after }: Change,
  present: unknown,
  password: string | undefined,
): Generator<EntryRequest> {
  const at = entryPath(kind, path)
  if (after === undefined) yield { method: 'DELETE', path: at, result: undefined }
  else if (kind === 'groupMappings')
    yield* requestsForMapping(path.at(-1)!, at, after as GroupMapping, present as GroupMapping | undefined)
  else {
    const created = kind === 'logins' ? { hasPassword: false } : []
    if (present === undefined) yield { method: 'POST', path: at, result: created }
    if (kind === 'roles') yield { method: 'POST', path: `${at}/permissions`, body: after, result: after }
    if (kind === 'users') yield* requestsForRoles(at, after as string[], (present ?? []) as string[])
    if (password !== undefined)
      yield { method: 'POST', path: `${at}/credentials`, body: { password }, result: {} }
  }
}

interface GroupMapping {
  readonly groupPattern: string
  readonly roles?: readonly string[]
}

function* requestsForMapping(
  name: string,
  at: string,
  { groupPattern, roles = [] }: GroupMapping,
  present: GroupMapping | undefined,
): Generator<EntryRequest> {
  const isKept = present?.groupPattern === groupPattern
  if (present !== undefined && !isKept) yield { method: 'DELETE', path: at, result: undefined }
  const created = { groupPattern, roles: [] }
  if (!isKept) yield { method: 'POST', path: at, body: { name, ...created }, result: created }
  for (const request of requestsForRoles(at, roles, (isKept ? present.roles : undefined) ?? []))
    yield { ...request, result: { groupPattern, roles: request.result } }
}

function* requestsForRoles(
  at: string,
  after: readonly string[],
  present: readonly string[],
): Generator<EntryRequest> {
  let roles = present
  const pathOf = (role: string): string => `${at}/roles/${encodeURIComponent(role)}`
  for (const role of new Set(after)) {
    if (present.includes(role)) continue
    roles = [...roles, role]
    yield { method: 'POST', path: pathOf(role), result: roles }
  }
  for (const role of present) {
    if (after.includes(role)) continue
    roles = roles.filter((one) => one !== role)
    yield { method: 'DELETE', path: pathOf(role), result: roles }
  }
}
