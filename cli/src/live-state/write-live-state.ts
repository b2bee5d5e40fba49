import { Failure, forbidden } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'
import { type Change, fieldAt } from '../declared-state/index.ts'
import { postRules } from '../rules/index.ts'
import { coordinatorPath, entryPath } from './paths.ts'
import type { VersionedValue } from './read-live-state.ts'
import { type Headers, requiredAbsence, requiredVersion } from './required-version.ts'
import { writeAccessEntry } from './write-access-entry.ts'
import { writeCompactionCluster } from './write-compaction-cluster.ts'

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
  present: VersionedValue,
): Promise<void> {
  const { client, headers } = context
  const { kind, path, after } = change
  const { version } = present
  const at = entryPath(kind, path)
  switch (kind) {
    case 'rules':
      await postRules(client, at, after ?? [], {
        headers: { ...headers, ...requiredVersion(version) },
        overridesPolicy: context.overridesPolicy,
      })
      return
    case 'compactionDatasources': {
      const required = present.value === undefined ? requiredAbsence : requiredVersion(version)
      const config = after && { ...(after as object), dataSource: path.at(-1) }
      await client.send(config ? 'POST' : 'DELETE', at, config, { ...headers, ...required })
      return
    }
    case 'coordinator':
    case 'compactionCluster':
      await writeFields(context, [change], version)
      return
    default:
      await writeAccessEntry(client, change, present, {
        headers,
        password: kind === 'logins' ? context.passwordOf(change) : undefined,
      })
  }
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
export async function assertMayWrite(
  { client, overridesPolicy }: Pick<WriteContext, 'client' | 'overridesPolicy'>,
  changes: readonly Change[],
): Promise<void> {
  const paths = new Map(changes.map((change) => [probePath(change), change]))
  const missing: string[] = []
  const overridden: string[] = []
  for (const [path, { kind, path: entry }] of paths) {
    const name = `[${fieldAt(entry)}]`
    if (await isForbidden(client, path)) missing.push(name)
    else if (kind === 'rules' && overridesPolicy && (await isForbidden(client, `${path}?overridePolicy`)))
      overridden.push(name)
  }
  const reasons = [
    ...(missing.length > 0 ? [`the user has no permission to change ${missing.join(', ')}`] : []),
    ...(overridden.length > 0
      ? [
          `to change ${overridden.join(', ')} with --override-policy, the user needs permission [WRITE] on [CONFIG] [rulesOverride]`,
        ]
      : []),
  ]
  if (reasons.length > 0) throw forbidden(`Nothing was applied: ${reasons.join('; ')}`)
}

async function isForbidden(client: ClusterClient, path: string): Promise<boolean> {
  try {
    await client.send('POST', path, invalidBody)
  } catch (error) {
    if (!(error instanceof Failure) || error.code === 'unauthorized') throw error
    return error.code === 'forbidden'
  }
  return false
}

/** A path with a body that needs the same permission as a change. */
function probePath({ kind, path }: Change): string {
  const at = entryPath(kind, path)
  if (kind === 'roles') return `${at}/permissions`
  if (kind === 'logins') return `${at}/credentials`
  // All users, roles, and group mappings of an authorizer need one permission.
  return kind === 'users' ? `${entryPath('roles', path)}/permissions` : at
}
