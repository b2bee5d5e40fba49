import { escapeInvisible } from '@svc/domain/validation'
import { emphasized } from '../terminal/index.ts'
import { type ComparedSubject, comparedSubjects, type SubjectView } from './compared-subjects.ts'
import { type Configuration, type Server, secretOf, textOf } from './configuration.ts'
import { type Endpoint, loginOf } from './decide-access.ts'
import type { Examination } from './examination.ts'
import type { Finding } from './findings.ts'
import type { KnownUsers } from './known-users.ts'
import {
  type Authenticator,
  authorizersOf,
  authorizersProperty,
  chainOf,
  chainProperty,
  createdInternalUser,
  reachableBasics,
} from './logins.ts'
import { serversOfRoles } from './servers-of-roles.ts'

/** Someone who could use a cluster before a change of its configuration, but no longer can. */
export interface Lockout {
  /** As in changes of access, or `everyone`. */
  readonly subject: string
  /** `access`: logins or connections fail; `permissions`: logins succeed, but every permission is gone. */
  readonly loses: 'access' | 'permissions'
  /** The servers that refuse them, by folder. */
  readonly servers: readonly string[]
  /** A sentence without a period. */
  readonly reason: string
}

/** Returns whom a change of the configuration locks out. `known` are the users and roles of both configurations. */
export function findLockouts(
  before: Examination,
  after: Examination,
  known: KnownUsers,
  endpoints: readonly Endpoint[],
): Lockout[] {
  const subjects = comparedSubjects(before.configuration, after.configuration, known)
  const pairs = pairsOf(before.configuration, after.configuration)
  const ofFindings = newFindings(before, after).map(
    (finding): Lockout => ({
      subject: finding.locksOut as string,
      loses: 'access',
      servers: finding.servers,
      reason: reasonOf(finding),
    }),
  )
  // A finding about the servers has a better reason than their failed login.
  const isFound = ({ subject, servers }: Lockout) =>
    ofFindings.some(
      (one) =>
        one.subject === serversSubject &&
        subject.startsWith(serversSubject) &&
        servers.every((name) => one.servers.includes(name)),
    )
  const lockouts = [
    ...ofFindings,
    ...[
      ...subjects.flatMap((subject) => accessLockouts(subject, pairs, known)),
      ...subjects.flatMap((subject) => passwordLockouts(subject, pairs)),
      ...subjects.flatMap((subject) => userLockouts(subject, pairs, known)),
    ].filter((one) => !isFound(one)),
    ...subjects.flatMap((subject) => permissionLockouts(subject, pairs, endpoints)),
  ]
  return lockouts.toSorted((a, b) => rankOf(a) - rankOf(b))
}

/** Someone who could not use a cluster before a change. `reason` is what locked them out. */
export type Recovery = Omit<Lockout, 'loses'>

/** Returns who is no longer locked out after a change, because a finding that locked them out is gone. */
export function findRecoveries(before: Examination, after: Examination): Recovery[] {
  const isLockedOut = (name: string, subject: string | undefined) =>
    after.findings.some(
      (one) =>
        showsChange(one) &&
        (one.locksOut === subject || one.locksOut === 'everyone') &&
        one.servers.includes(name),
    )
  const kept = new Set(after.configuration.servers.map(({ name }) => name))
  return newFindings(after, before)
    .flatMap((finding) => {
      const servers = finding.servers.filter((name) => kept.has(name) && !isLockedOut(name, finding.locksOut))
      const subject = finding.locksOut as string
      return servers.length === 0 ? [] : [{ subject, servers, reason: reasonOf(finding) }]
    })
    .toSorted((a, b) => rankOf(a) - rankOf(b))
}

const reasonOf = ({ problem, file, line }: Finding): string =>
  `${problem} (${line === undefined ? file : `${file}:${line}`})`

const serversSubject = 'the servers'

const rankOf = ({ subject }: Pick<Lockout, 'subject'>): number =>
  subject === 'everyone' ? 0 : subject.startsWith(serversSubject) ? 1 : 2

/** Returns the findings that lock out users of servers on which they have not been found before. */
function newFindings(before: Examination, after: Examination): Finding[] {
  const { servers } = before.configuration
  const hadAt = (name: string, { code, locksOut }: Finding) =>
    before.findings.some(
      (one) =>
        one.code === code &&
        one.locksOut === locksOut &&
        // A server without a predecessor is compared with all servers.
        (servers.every((server) => server.name !== name) || one.servers.includes(name)),
    )
  return after.findings.flatMap((finding) => {
    if (finding.locksOut === undefined || !showsChange(finding)) return []
    const added = finding.servers.filter((name) => !hadAt(name, finding))
    return added.length === 0 ? [] : [{ ...finding, servers: added }]
  })
}

/** Whether a store exists on this machine says nothing about a change. */
const showsChange = ({ code }: Finding): boolean => code !== 'store-missing'

/** A server before and after the change; a new server is compared with the coordinator. */
interface ServerPair {
  readonly was: Server
  readonly is: Server
}

function pairsOf(before: Configuration, after: Configuration): ServerPair[] {
  const { coordinator } = serversOfRoles(before)
  return after.servers.map((is) => ({
    is,
    was: before.servers.find(({ name }) => name === is.name) ?? coordinator,
  }))
}

/** Returns the lockouts of someone whose login worked, by their reason. */
function accessLockouts(
  { name, before, after }: ComparedSubject,
  pairs: readonly ServerPair[],
  known: KnownUsers,
): Lockout[] {
  if (before.subject.kind === 'nobody') return []
  const byReason = new Map<string, string[]>()
  for (const { was, is } of pairs) {
    // Without a chain, no login is required.
    if (loginOf(was, before.subject, known).kind !== 'known' || chainOf(is).length === 0) continue
    if (['known', 'everyone'].includes(loginOf(is, after.subject, known).kind)) continue
    const reason = refusalReason(is, after)
    byReason.set(reason, [...(byReason.get(reason) ?? []), is.name])
  }
  return [...byReason].map(([reason, servers]) => ({ subject: name, loses: 'access', servers, reason }))
}

function refusalReason(server: Server, { subject }: SubjectView): string {
  const chain = chainOf(server)
  if (subject.kind === 'servers') {
    if (textOf(server, 'druid.escalator.type') !== 'basic') return '[druid.escalator.type] is not [basic]'
    return `No authenticator accepts the password in [druid.escalator.internalClientPassword] for [${subject.user}]`
  }
  const { authenticator } = subject
  const member = chain.find(({ name }) => name === authenticator)
  if (member === undefined) return `[${chainProperty}] does not contain [${authenticator}]`
  if (member.users !== subject.store) return storeReason(member)
  const reached = reachableBasics(server)
  if (reached.every(({ name }) => name !== authenticator))
    return `[${reached.at(-1)?.name}] rejects users that it does not know, before [${authenticator}] is tried`
  return `An authenticator before [${authenticator}] has a user with this name`
}

/** Why the users of an authenticator are no longer where they were. */
function storeReason({ name, prefix, users }: Authenticator): string {
  if (users === undefined) return `[${prefix}.type] is not [basic]`
  const [is, store] = users === 'directory' ? ['is', 'a directory'] : ['is not', 'the metadata store']
  return `[${prefix}.credentialsValidator.type] ${is} [ldap], so [${name}] looks for users in ${store}`
}

/** The servers need a user that exists. The user may be in a directory, but the configuration does not show that. */
function userLockouts(
  { name, before, after }: ComparedSubject,
  pairs: readonly ServerPair[],
  known: KnownUsers,
): Lockout[] {
  const { user } = after.subject
  if (before.subject.kind !== 'servers' || before.subject.user === user) return []
  const isKnown = Object.values(known.logins).some((users) => users.includes(user))
  if (user === createdInternalUser || user === 'admin' || isKnown) return []
  const directories = [
    ...new Set(
      pairs.flatMap(({ is }) =>
        reachableBasics(is).flatMap((one) => (one.users === 'directory' ? [one.name] : [])),
      ),
    ),
  ]
  return [
    {
      subject: name,
      loses: 'access',
      servers: pairs.map(({ is }) => is.name),
      reason: `[druid.escalator.internalClientUsername] has changed to [${user}], but [initialInternalClientPassword] creates only the user [${createdInternalUser}]${directories.length === 0 ? '' : ` (svc has not checked whether the directory [${directories.join(', ')}] has this user)`}`,
    },
  ]
}

/** A cluster that has already started keeps the password of the internal user, so a new password is wrong. */
function passwordLockouts({ name, before, after }: ComparedSubject, pairs: readonly ServerPair[]): Lockout[] {
  const property = 'druid.escalator.internalClientPassword'
  const { user } = after.subject
  if (before.subject.kind !== 'servers' || before.subject.user !== user) return []
  const storesUsers = (server: Server) => reachableBasics(server).some(({ users }) => users === 'stored')
  const changed = pairs.filter(({ was, is }) => {
    const [earlier, later] = [secretOf(was, property), secretOf(is, property)]
    return earlier && later && !earlier.isEqual(later) && storesUsers(was) && storesUsers(is)
  })
  // A password that only some servers have is a finding.
  if (changed.length < pairs.length) return []
  return [
    {
      subject: name,
      loses: 'access',
      servers: changed.map(({ is }) => is.name),
      reason: `[${property}] has changed, but a cluster that has already started keeps the old password of [${user}] until you change it through the API`,
    },
  ]
}

/** Returns the lockout of someone who had permissions and has none, on any server. */
function permissionLockouts(
  { name, before, after, decide }: ComparedSubject,
  pairs: readonly ServerPair[],
  endpoints: readonly Endpoint[],
): Lockout[] {
  if (before.subject.kind !== 'user') return []
  const needing = endpoints.filter(({ access }) => access.kind === 'permission')
  if (!needing.some((endpoint) => decide(before, endpoint) === 'allowed')) return []
  const left = needing.map((endpoint) => decide(after, endpoint))
  if (!left.includes('forbidden') || left.includes('allowed')) return []
  const servers = pairs.map(({ is }) => is.name)
  const reason = missingReason(after.servers.coordinator, after)
  return [{ subject: name, loses: 'permissions', servers, reason }]
}

function missingReason(server: Server, { subject }: SubjectView): string {
  const member = chainOf(server).find(({ name }) => name === subject.authenticator)
  const { prefix, authorizer } = member ?? {}
  const authorizers = authorizersOf(server)
  if (authorizer === undefined) return `[${prefix}.authorizerName] is not set`
  if (!authorizers.includes(authorizer))
    return `[${prefix}.authorizerName] is [${authorizer}], but [${authorizersProperty}] contains only [${authorizers.join(', ')}]`
  return `Authorizer [${authorizer}] grants this user no permissions`
}

const losses = { access: 'locked out of', permissions: 'loses all permissions on' } as const

const placeText = (servers: readonly string[], serverCount: number): string =>
  servers.length === serverCount ? 'all servers' : escapeInvisible(servers.join(', '))

/** The lockouts as text: one paragraph each. `serverCount` is the number of all servers. */
export const lockoutTexts = (lockouts: readonly Lockout[], serverCount: number): string[] =>
  lockouts.map(
    ({ subject, loses, servers, reason }) =>
      `${escapeInvisible(subject)}: ${emphasized(losses[loses])} ${placeText(servers, serverCount)}\n  ${escapeInvisible(reason)}.`,
  )

/** The recoveries as text: one paragraph each. `serverCount` is the number of all servers. */
export const recoveryTexts = (recoveries: readonly Recovery[], serverCount: number): string[] =>
  recoveries.map(
    ({ subject, servers, reason }) =>
      `${escapeInvisible(subject)}: no longer locked out of ${placeText(servers, serverCount)}\n  Fixed: ${escapeInvisible(reason)}.`,
  )
