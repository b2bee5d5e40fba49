import { readStoredDocument } from '@svc/shared/openapi'
import { countOf } from '../terminal/index.ts'
import type { Configuration, Server } from './configuration.ts'
import { type Decision, decideAccess, type Endpoint } from './decide-access.ts'
import type { KnownUsers } from './known-users.ts'
import { type ServerRole, serversOfRoles } from './servers-of-roles.ts'
import { type Subject, subjectsOf } from './subjects.ts'

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
  const servers = [serversOfRoles(before), serversOfRoles(after)] as const
  const subjects = new Map<string, Subject>()
  for (const { coordinator } of servers)
    for (const subject of subjectsOf(coordinator, known)) subjects.set(subject.name, subject)
  const changes = new Map<string, AccessChange>()
  for (const subject of subjects.values())
    for (const endpoint of endpoints) {
      const decide = (all: Readonly<Record<ServerRole, Server>>) =>
        decideAccess(all[endpoint.role], subject, endpoint, known)
      const [then, now] = [decide(servers[0]), decide(servers[1])]
      if (then === now || (subject.kind !== 'nobody' && isPermitted(then) && isPermitted(now))) continue
      const key = JSON.stringify([subject.name, then, now])
      const listed = [...(changes.get(key)?.endpoints ?? []), `${endpoint.method} ${endpoint.path}`]
      changes.set(key, { subject: subject.name, before: then, after: now, endpoints: [...new Set(listed)] })
    }
  return [...changes.values()]
}

/** Without a login, other users may do the same as before, so that is a change for callers without a login only. */
const isPermitted = (decision: Decision): boolean => decision === 'open' || decision === 'allowed'

const shownEndpoints = 5

/** The changes as text: one paragraph for each subject and kind of change. */
export function accessChangesText(changes: readonly AccessChange[]): string {
  if (changes.length === 0) return 'No user gains or loses access.\n'
  const paragraphs = changes.map(({ subject, before, after, endpoints }) => {
    const more = endpoints.length - shownEndpoints
    return [
      `${subject}: ${before} -> ${after} at ${countOf(endpoints.length, 'endpoint')}`,
      ...endpoints.slice(0, shownEndpoints).map((endpoint) => `  ${endpoint}`),
      ...(more > 0 ? [`  and ${more} more; --json lists all`] : []),
    ].join('\n')
  })
  return `${paragraphs.join('\n\n')}\n`
}
