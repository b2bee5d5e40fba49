import { escapeInvisible } from '@svc/domain/validation'
import { readStoredDocument } from '@svc/shared/openapi'
import { countOf } from '../terminal/index.ts'
import { comparedSubjects } from './compared-subjects.ts'
import type { Configuration } from './configuration.ts'
import type { Decision, Endpoint } from './decide-access.ts'
import type { KnownUsers } from './known-users.ts'
import type { ServerRole } from './servers-of-roles.ts'

/** Endpoints at which the decision about a subject has changed in the same way. */
export interface AccessChange {
  readonly subject: string
  readonly before: Decision
  readonly after: Decision
  /** Such as `GET /druid/coordinator/v1/rules`. */
  readonly endpoints: readonly string[]
}

/** Reads the endpoints of all servers with their permissions. */
export async function readEndpoints(): Promise<Endpoint[]> {
  const { document } = await readStoredDocument()
  const found = new Map<string, Endpoint>()
  for (const [written, operations] of Object.entries(document.paths))
    for (const [method, { tags, 'x-access': access }] of Object.entries(operations)) {
      const path = written.replace(/^\/proxy\/\w+/, '').replace(/^\/svc(?=[/-])/, '/druid')
      // The other paths exist only in svc.
      if (!/^\/(druid|druid-ext|status)(\/|$)/.test(path)) continue
      const role = tags[0] as ServerRole
      found.set(`${role} ${method} ${path}`, { role, method: method.toUpperCase(), path, access })
    }
  return [...found.values()]
}

/** Compares what each user may do with two configurations. `known` are the users and roles of both. */
export function compareAccess(
  before: Configuration,
  after: Configuration,
  known: KnownUsers,
  endpoints: readonly Endpoint[],
): AccessChange[] {
  const changes = new Map<string, AccessChange>()
  for (const { name, decide, ...views } of comparedSubjects(before, after, known))
    for (const endpoint of endpoints) {
      const [earlier, later] = [decide(views.before, endpoint), decide(views.after, endpoint)]
      const isSame = views.before.subject.kind !== 'nobody' && isPermitted(earlier) && isPermitted(later)
      if (earlier === later || isSame) continue
      const key = JSON.stringify([name, earlier, later])
      const listed = [...(changes.get(key)?.endpoints ?? []), `${endpoint.method} ${endpoint.path}`]
      changes.set(key, { subject: name, before: earlier, after: later, endpoints: [...new Set(listed)] })
    }
  return [...changes.values()]
}

/** Without a login, other users may do the same as before, so that is a change for callers without a login only. */
const isPermitted = (decision: Decision): boolean => decision === 'open' || decision === 'allowed'

const shownEndpoints = 5

/** The changes as text: one paragraph for each subject and kind of change. */
export const accessChangesTexts = (changes: readonly AccessChange[]): string[] =>
  changes.map(({ subject, before, after, endpoints }) => {
    const more = endpoints.length - shownEndpoints
    return [
      `${escapeInvisible(subject)}: ${before} -> ${after} at ${countOf(endpoints.length, 'endpoint')}`,
      ...endpoints.slice(0, shownEndpoints).map((endpoint) => `  ${endpoint}`),
      ...(more > 0 ? [`  and ${more} more; --json lists all`] : []),
    ].join('\n')
  })
