import { randomUUID } from 'node:crypto'
import type { DirectoryStep, LoginVerdict } from '@svc/domain/access'
import type { Entry, SearchResult } from 'ldapts'
import type { Settings } from '../config/index.ts'
import { ldapErrorText } from './ldap-error-text.ts'
import {
  BindRejected,
  createLdapRequests,
  type LdapConnection,
  type LdapRequests,
  type OnProblem,
} from './ldap-requests.ts'
import { type LdapSettings, readLdapSettings } from './ldap-settings.ts'
import { LdapTrace } from './ldap-trace.ts'

/** The result of looking up a user in a directory. */
export type LdapFinding = Extract<LoginVerdict, { kind: 'known' | 'unknown' | 'unavailable' }>

/** Counts a login attempt by the name of the user in the directory. Returns the seconds to wait if it is throttled. */
export type CountAttempt = (identity: string) => Promise<number | undefined>

/** Checks users and passwords at a directory, without a cache. */
export interface LdapDirectory {
  verify(user: string, password: string, countAttempt: CountAttempt, trace?: LdapTrace): Promise<LoginVerdict>
  find(user: string, trace?: LdapTrace): Promise<LdapFinding>
}

/** Opens the directory of an authenticator. Throws if its trust store or a filter is invalid. */
export async function openLdapDirectory(
  settings: Settings,
  name: string,
  onProblem: OnProblem,
): Promise<LdapDirectory> {
  const ldap = await import('ldapts')
  const ldapSettings = await readLdapSettings(ldap, settings, name)
  const requests = createLdapRequests(ldap, name, ldapSettings, onProblem)

  const run = createTracedRuns(requests)
  const { bind, proves } = createBinds(ldap, ldapSettings)

  return {
    verify: async (user, password, countAttempt, trace = new LdapTrace()) => {
      // RFC 4513 5.1.2: many directories report success for a bind with an empty password, which proves nothing.
      if (password === '' || user === '') return { kind: 'wrong' }
      return await run(trace, async (connection): Promise<LoginVerdict> => {
        await bind(connection, trace)
        const found = await findUser(connection, ldapSettings, user, trace)
        const waitSeconds = found && (await countAttempt(found.identity))
        if (found && waitSeconds !== undefined)
          return { kind: 'throttled', retryAfterSeconds: waitSeconds, identity: found.identity }
        // An unknown user needs the same messages as a wrong password, and so does a password that cannot be sent as
        // typed. Some directories cut a password at its first NUL.
        const isSendable = password.isWellFormed() && !password.includes('\0')
        const dn = found && isSendable ? found.dn : `cn=${randomUUID()},${ldapSettings.baseDn}`
        const proof = proves(connection, dn, password)
        if (!found) {
          await proof
          return { kind: 'unknown' }
        }
        const step = { action: 'checkPassword', url: ldapSettings.url, bindUser: found.dn } as const
        const rejected = (isAccepted: boolean) => (isAccepted ? {} : { error: 'Invalid credentials' })
        const isProved = (await trace.note(step, proof, rejected)) && isSendable
        return isProved
          ? { kind: 'known', identity: found.identity, groups: found.groups }
          : { kind: 'wrong', identity: found.identity }
      })
    },
    find: (user, trace = new LdapTrace()) =>
      run(trace, async (connection): Promise<LdapFinding> => {
        await bind(connection, trace)
        const found = await findUser(connection, ldapSettings, user, trace)
        return found ? { kind: 'known', identity: found.identity, groups: found.groups } : { kind: 'unknown' }
      }),
  }
}

/**
 * Returns a function that runs a request, which notes in `trace` what it sends. If nothing is sent, notes the earlier
 * requests that show why.
 */
function createTracedRuns(requests: LdapRequests) {
  let lastSent = new LdapTrace()
  return async <Answer extends LoginVerdict>(
    trace: LdapTrace,
    request: (connection: LdapConnection) => Promise<Answer>,
  ) => {
    const answer = await requests.run((connection) => {
      lastSent = trace
      return request(connection)
    })
    if (answer.kind !== 'unavailable' || !answer.problem) return answer
    // Nothing was sent during the pause after a failure, or because earlier logins took all the time.
    if (trace.steps().length === 0) trace.addEarlier(lastSent.steps())
    else trace.fail(answer.problem.error)
    return answer
  }
}

/** Returns the two kinds of binds of a login. */
function createBinds(ldap: typeof import('ldapts'), { url, bindUser, bindPassword }: LdapSettings) {
  const isUnavailable = (error: unknown): boolean =>
    error instanceof ldap.BusyError ||
    error instanceof ldap.UnavailableError ||
    error instanceof ldap.UnwillingToPerformError ||
    error instanceof ldap.OperationsError
  const isRejected = (error: unknown): boolean =>
    error instanceof ldap.ResultCodeError && !isUnavailable(error)

  return {
    /** Binds as the bind user. Throws BindRejected if the directory rejects it. */
    bind: async (connection: LdapConnection, trace: LdapTrace): Promise<void> => {
      if (bindUser === undefined) return
      try {
        const bound = connection.client.bind(bindUser, bindPassword)
        await trace.note({ action: 'bind', url, bindUser }, bound)
      } catch (error) {
        if (isRejected(error)) throw new BindRejected(ldapErrorText(error))
        throw error
      }
      connection.hasAnswered = true
    },
    /** Returns whether the directory accepts the password of an entry. */
    proves: async ({ client }: LdapConnection, dn: string, password: string): Promise<boolean> => {
      try {
        await client.bind(dn, password)
        return true
      } catch (error) {
        if (isRejected(error)) return false
        throw error
      }
    },
  }
}

/** Searches for a user and the user's groups. Like Druid 37, takes the first entry. */
async function findUser(
  connection: LdapConnection,
  { url, bindUser = '', ...settings }: LdapSettings,
  user: string,
  trace: LdapTrace,
) {
  const { client } = connection
  const { baseDn, userAttribute, groupBaseDn } = settings
  const filter = settings.userFilter(user)
  const { searchEntries } = await trace.note(
    { action: 'searchUser', url, bindUser, baseDn, filter },
    client.search(baseDn, { scope: 'sub', filter, attributes: [userAttribute, 'memberOf'] }),
    foundIn,
  )
  connection.hasAnswered = true
  const [entry] = searchEntries
  if (!entry) return undefined
  const groups = new Set(attributeOf(entry, 'memberOf'))
  if (groupBaseDn !== undefined) {
    const groupFilter = settings.groupFilter(entry.dn)
    const found = await trace.note(
      { action: 'searchGroups', url, bindUser, baseDn: groupBaseDn, filter: groupFilter },
      client.search(groupBaseDn, { scope: 'sub', filter: groupFilter, attributes: ['1.1'] }),
      foundIn,
    )
    for (const { dn } of found.searchEntries) groups.add(dn)
  }
  const [identity = user] = attributeOf(entry, userAttribute)
  return { dn: entry.dn, identity, groups: [...groups] }
}

// A wrong filter may find all users.
const maxShown = 20

function foundIn({ searchEntries }: SearchResult): Pick<DirectoryStep, 'found' | 'memberOf'> {
  const [first] = searchEntries
  const memberOf = first === undefined ? [] : attributeOf(first, 'memberOf')
  return {
    found: searchEntries.slice(0, maxShown).map(({ dn }) => dn),
    ...(memberOf.length === 0 ? {} : { memberOf }),
  }
}

function attributeOf(entry: Entry, attribute: string): string[] {
  const key = Object.keys(entry).find((one) => one.toLowerCase() === attribute.toLowerCase())
  const value = key === undefined ? [] : entry[key]
  return (Array.isArray(value) ? value : [value]).map(String)
}
