import { randomUUID } from 'node:crypto'
import type { LoginVerdict } from '@svc/domain/access'
import type { Entry } from 'ldapts'
import type { Settings } from '../config/index.ts'
import { createLdapRequests, type LdapConnection, type OnTrouble } from './ldap-requests.ts'
import { type LdapSettings, readLdapSettings } from './ldap-settings.ts'

/** The result of looking up a user in a directory. */
export type LdapFinding = Extract<LoginVerdict, { kind: 'known' | 'unknown' | 'unavailable' }>

/** Counts a login attempt by the name of the user in the directory. Returns the seconds to wait if it is throttled. */
export type CountAttempt = (identity: string) => Promise<number | undefined>

/** Checks users and passwords at a directory, without a cache. */
export interface LdapDirectory {
  verify(user: string, password: string, countAttempt: CountAttempt): Promise<LoginVerdict>
  find(user: string): Promise<LdapFinding>
}

/** Opens the directory of an authenticator. Throws if its trust store or a filter is invalid. */
export async function openLdapDirectory(
  settings: Settings,
  name: string,
  onTrouble: OnTrouble,
): Promise<LdapDirectory> {
  const ldap = await import('ldapts')
  const ldapSettings = await readLdapSettings(ldap, settings, name)
  const requests = createLdapRequests(ldap, name, ldapSettings, onTrouble)

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
    find: (user) =>
      requests.run(async (connection): Promise<LdapFinding> => {
        const found = await findUser(connection, ldapSettings, user)
        return found ? { kind: 'known', identity: found.identity, groups: found.groups } : { kind: 'unknown' }
      }),
  }
}

/** Searches as the bind user. Like Druid 37, takes the first entry. */
async function findUser(connection: LdapConnection, settings: LdapSettings, user: string) {
  const { client } = connection
  const { baseDn, bindUser, bindPassword, userAttribute, groupBaseDn } = settings
  if (bindUser !== undefined) {
    await client.bind(bindUser, bindPassword)
    connection.hasAnswered = true
  }
  const { searchEntries } = await client.search(baseDn, {
    scope: 'sub',
    filter: settings.userFilter(user),
    attributes: [userAttribute, 'memberOf'],
  })
  const [entry] = searchEntries
  if (!entry) return undefined
  const groups = new Set(attributeOf(entry, 'memberOf'))
  if (groupBaseDn !== undefined) {
    const found = await client.search(groupBaseDn, {
      scope: 'sub',
      filter: settings.groupFilter(entry.dn),
      attributes: ['1.1'],
    })
    for (const { dn } of found.searchEntries) groups.add(dn)
  }
  const [identity = user] = attributeOf(entry, userAttribute)
  return { dn: entry.dn, identity, groups: [...groups] }
}

function attributeOf(entry: Entry, attribute: string): string[] {
  const key = Object.keys(entry).find((one) => one.toLowerCase() === attribute.toLowerCase())
  const value = key === undefined ? [] : entry[key]
  return (Array.isArray(value) ? value : [value]).map(String)
}
