import type { Configuration, Server } from './configuration.ts'
import { type Decision, decideAccess, type Endpoint } from './decide-access.ts'
import type { KnownUsers } from './known-users.ts'
import { type ServerRole, serversOfRoles } from './servers-of-roles.ts'
import { type Subject, subjectsOf } from './subjects.ts'

/** A subject in one of two configurations, with the servers that decide about it. */
export interface SubjectView {
  readonly subject: Subject
  readonly servers: Readonly<Record<ServerRole, Server>>
}

/** Someone whose access two configurations decide. */
export interface ComparedSubject {
  readonly name: string
  readonly before: SubjectView
  readonly after: SubjectView
  decide(view: SubjectView, endpoint: Endpoint): Decision
}

/** Returns everyone whose access one of two configurations decides. */
export function comparedSubjects(
  before: Configuration,
  after: Configuration,
  known: KnownUsers,
): ComparedSubject[] {
  const [serversBefore, serversAfter] = [serversOfRoles(before), serversOfRoles(after)]
  const byKey = (server: Server) => new Map(subjectsOf(server, known).map((one) => [one.key, one] as const))
  const [earlier, later] = [byKey(serversBefore.coordinator), byKey(serversAfter.coordinator)]
  const decide = ({ subject, servers }: SubjectView, endpoint: Endpoint) =>
    decideAccess(servers[endpoint.role], subject, endpoint, known)
  return [...new Map([...earlier, ...later]).keys()].map((key) => {
    // Someone whom one of the configurations does not mention is the same there as in the other one.
    const was = (earlier.get(key) ?? later.get(key)) as Subject
    const is = later.get(key) ?? was
    return {
      name: was.kind === 'servers' && was.name !== is.name ? `${was.name}, now as ${is.user}` : was.name,
      before: { subject: was, servers: serversBefore },
      after: { subject: is, servers: serversAfter },
      decide,
    }
  })
}
