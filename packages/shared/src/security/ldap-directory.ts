import { randomUUID } from 'node:crypto'
import type { LoginVerdict } from '@svc/domain/access'
import { describeError } from '@svc/domain/failure'
import type { Entry, SearchResult } from 'ldapts'
import type { Settings } from '../config/index.ts'
import { createLdapRequests, type LdapConnection, type OnProblem } from './ldap-requests.ts'
import { type LdapSettings, readLdapSettings } from './ldap-settings.ts'

/** The result of looking up a user in a directory. */
export type LdapFinding = Extract<LoginVerdict, { kind: 'known' | 'unknown' | 'unavailable' }>

/** Counts a login attempt by the name of the user in the directory. Returns the seconds to wait if it is throttled. */
export type CountAttempt = (identity: string) => Promise<number | undefined>

/** A request to a directory, and its result. It never contains a password. */
export interface LdapStep {
  readonly action: 'bind' | 'searchUser' | 'searchGroups'
  readonly url: string
  /** The user who binds; empty for an anonymous search. */
  readonly bindUser: string
  readonly baseDn?: string
  /** As sent. */
  readonly filter?: string
  /** The names of the entries that were found. */
  readonly found?: readonly string[]
  /** Values of memberOf in the entry of the user. */
  readonly memberOf?: readonly string[]
  readonly error?: string
}

/** Called after each request to a directory. */
export type OnLdapStep = (step: LdapStep) => void

/** Checks users and passwords at a directory, without a cache. */
export interface LdapDirectory {
  verify(user: string, password: string, countAttempt: CountAttempt): Promise<LoginVerdict>
  find(user: string, onStep?: OnLdapStep): Promise<LdapFinding>
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

  const isUnavailable = (error: unknown): boolean =>
    error instanceof ldap.BusyError ||
    error instanceof ldap.UnavailableError ||
    error instanceof ldap.UnwillingToPerformError ||
    error instanceof ldap.OperationsError

  /** Returns whether the directory accepts the password of an entry. */
  async function proves({ client }: LdapConnection, dn: string, password: string): Promise<boolean> {
    try {
      await client.bind(dn, password)
      return true
    } catch (error) {
      if (error instanceof ldap.ResultCodeError && !isUnavailable(error)) return false
      throw error
    }
  }

  return {
    verify: async (user, password, countAttempt) => {
      // RFC 4513 5.1.2: many directories report success for a bind with an empty password, which proves nothing.
      if (password === '' || user === '') return { kind: 'wrong' }
      return await requests.run(async (connection): Promise<LoginVerdict> => {
        const found = await findUser(connection, ldapSettings, user)
        const waitSeconds = found && (await countAttempt(found.identity))
        if (found && waitSeconds !== undefined)
          return { kind: 'throttled', retryAfterSeconds: waitSeconds, identity: found.identity }
        // An unknown user needs the same messages as a wrong password, and so does a password that cannot be sent as
        // typed. Some directories cut a password at its first NUL.
        const isSendable = password.isWellFormed() && !password.includes('\0')
        const dn = found && isSendable ? found.dn : `cn=${randomUUID()},${ldapSettings.baseDn}`
        const isProved = (await proves(connection, dn, password)) && isSendable
        if (!found) return { kind: 'unknown' }
        return isProved
          ? { kind: 'known', identity: found.identity, groups: found.groups }
          : { kind: 'wrong', identity: found.identity }
      })
    },
    find: (user, onStep) =>
      requests.run(async (connection): Promise<LdapFinding> => {
        const found = await findUser(connection, ldapSettings, user, onStep)
        return found ? { kind: 'known', identity: found.identity, groups: found.groups } : { kind: 'unknown' }
      }),
  }
}

/** Searches as the bind user. Like Druid 37, takes the first entry. */
async function findUser(
  connection: LdapConnection,
  settings: LdapSettings,
  user: string,
  onStep: OnLdapStep = () => undefined,
) {
  const { client } = connection
  const { baseDn, bindUser, bindPassword, userAttribute, groupBaseDn } = settings
  const report = reporterOf(settings, onStep)
  if (bindUser !== undefined) {
    await report({ action: 'bind' }, client.bind(bindUser, bindPassword))
    connection.hasAnswered = true
  }
  const filter = settings.userFilter(user)
  const { searchEntries } = await report(
    { action: 'searchUser', baseDn, filter },
    client.search(baseDn, { scope: 'sub', filter, attributes: [userAttribute, 'memberOf'] }),
    foundIn,
  )
  const [entry] = searchEntries
  if (!entry) return undefined
  const groups = new Set(attributeOf(entry, 'memberOf'))
  if (groupBaseDn !== undefined) {
    const groupFilter = settings.groupFilter(entry.dn)
    const found = await report(
      { action: 'searchGroups', baseDn: groupBaseDn, filter: groupFilter },
      client.search(groupBaseDn, { scope: 'sub', filter: groupFilter, attributes: ['1.1'] }),
      foundIn,
    )
    for (const { dn } of found.searchEntries) groups.add(dn)
  }
  const [identity = user] = attributeOf(entry, userAttribute)
  return { dn: entry.dn, identity, groups: [...groups] }
}

/** Returns a function that waits for a request to the directory, and reports it with its result or its error. */
function reporterOf({ url, bindUser = '' }: LdapSettings, onStep: OnLdapStep) {
  return async <Answer>(
    sent: Pick<LdapStep, 'action' | 'baseDn' | 'filter'>,
    answer: Promise<Answer>,
    describe: (answer: Answer) => Partial<LdapStep> = () => ({}),
  ): Promise<Answer> => {
    const step = { ...sent, url, bindUser }
    try {
      const found = await answer
      onStep({ ...step, ...describe(found) })
      return found
    } catch (error) {
      onStep({ ...step, error: describeError(error) })
      throw error
    }
  }
}

// A wrong filter may find all users.
const maxShown = 20

function foundIn({ searchEntries }: SearchResult): Pick<LdapStep, 'found' | 'memberOf'> {
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
