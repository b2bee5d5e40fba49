import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { LoginVerdict } from '@svc/domain/access'
import { describeError, Failure } from '@svc/domain/failure'
import type { Client, Entry } from 'ldapts'
import { type Settings, usesLdap } from '../config/index.ts'
import { keepNewest } from '../runtime/index.ts'
import { minTlsVersionOf, readTrustStore } from '../tls/index.ts'
import { createDirectoryGuard, DirectoryAway } from './directory-guard.ts'
import { digestOf } from './login-digest.ts'

const prefix = 'svc.auth.authenticator.<name>.credentialsValidator'

// Max cached user names that the directory has resolved.
const maxFoundNames = 10_000

/** The result of looking up a user in a directory. */
export type LdapFinding = Extract<LoginVerdict, { kind: 'known' | 'unknown' | 'unavailable' }>

/** Counts a login attempt by the name of the user in the directory. Returns the seconds to wait if it is throttled. */
export type CountAttempt = (identity: string) => Promise<number | undefined>

/** Verifies logins against an LDAP directory, and caches the results for some time. */
export interface LdapLogins {
  /** Returns the cached result if it is fresh enough; undefined if the directory must be queried. */
  remembered(user: string, password: string): LoginVerdict | undefined
  /**
   * Queries the directory. While it is unavailable, cached results are valid for longer. Calls `countAttempt` with the
   * resolved user before it tries the password, because a directory may find one user by many names.
   */
  verify(user: string, password: string, countAttempt?: CountAttempt): Promise<LoginVerdict>
  /** Returns the user that the directory has found for a typed name before, if cached. */
  foundAs(user: string): string | undefined
  /** Looks up a user without a login, as a login does before it tries the password. */
  find(user: string): Promise<LdapFinding>
}

/** Called when a directory has a problem. */
export type OnTrouble = (text: string, details: object) => void

/**
 * Returns the logins of all authenticators in the chain that use a directory. Throws a plain error if the trust store
 * for directories or a filter is invalid. Loads the client library only if there is a directory.
 */
export async function openLdapLogins(
  settings: Settings,
  now: () => number,
  onTrouble: OnTrouble,
): Promise<ReadonlyMap<string, LdapLogins>> {
  const found = new Map<string, LdapLogins>()
  for (const name of settings.get('svc.auth.authenticatorChain')) {
    if (!usesLdap(settings, name)) continue
    found.set(name, remembering(await openLdap(settings, name, onTrouble), settings, name, now))
  }
  return found
}

interface DirectoryConnection {
  verify(user: string, password: string, countAttempt: CountAttempt): Promise<LoginVerdict>
  find(user: string): Promise<LdapFinding>
}

interface RememberedLogin {
  readonly digest: string
  readonly verdict: LoginVerdict
  readonly at: number
}

/** Caches the last successful login of each user, and which users are unknown. */
function remembering(
  directory: DirectoryConnection,
  settings: Settings,
  name: string,
  now: () => number,
): LdapLogins {
  const verifyMs = settings.getNamed(`${prefix}.credentialVerifyDuration`, name) * 1000
  const maxMs = settings.getNamed(`${prefix}.credentialMaxDuration`, name) * 1000
  const size = settings.getNamed(`${prefix}.credentialCacheSize`, name)
  const digest = digestOf()
  // Separate caches, so that a flood of unknown names does not evict known users.
  const known = new Map<string, RememberedLogin>()
  const unknown = new Map<string, RememberedLogin>()
  const foundNames = new Map<string, string>()

  const find = (user: string, password: string, longestMs: number): LoginVerdict | undefined => {
    const login = known.get(user)
    if (login && login.digest === digest(user, password) && now() - login.at < longestMs) return login.verdict
    const lastUnknown = unknown.get(user)
    return lastUnknown && now() - lastUnknown.at < longestMs ? lastUnknown.verdict : undefined
  }

  return {
    find: directory.find,
    foundAs: (user) => foundNames.get(user),
    remembered: (user, password) => find(user, password, verifyMs),
    verify: async (user, password, countAttempt = async () => undefined) => {
      const verdict = await directory.verify(user, password, countAttempt)
      if (verdict.kind === 'unavailable') return find(user, password, maxMs) ?? verdict
      if (verdict.kind === 'unknown') foundNames.delete(user)
      else if (verdict.identity !== undefined) keepNewest(foundNames, user, verdict.identity, maxFoundNames)
      const login = { digest: digest(user, password), verdict, at: now() }
      if (verdict.kind === 'known') {
        unknown.delete(user)
        keepNewest(known, user, login, size)
      } else if (verdict.kind === 'unknown') {
        known.delete(user)
        keepNewest(unknown, user, login, size)
      } else {
        unknown.delete(user)
        // A wrong guess does not evict the correct password.
      }
      return verdict
    },
  }
}

async function openLdap(
  settings: Settings,
  name: string,
  onTrouble: OnTrouble,
): Promise<DirectoryConnection> {
  const ldap = await import('ldapts')
  const text = (property: 'url' | 'baseDn') => settings.getNamed(`${prefix}.${property}`, name) as string
  const url = text('url')
  const baseDn = text('baseDn')
  const bindUser = settings.getNamed(`${prefix}.bindUser`, name)
  const bindPassword = settings.getNamed(`${prefix}.bindPassword`, name) ?? ''
  const userAttribute = settings.getNamed(`${prefix}.userAttribute`, name)
  const groupBaseDn = settings.getNamed(`${prefix}.groupBaseDn`, name)
  const fillFilter = (property: 'userSearch' | 'groupSearch', value: string): string =>
    settings.getNamed(`${prefix}.${property}`, name).replaceAll('%s', () => ldap.escapeFilter`${value}`)
  for (const property of ['userSearch', 'groupSearch'] as const) {
    try {
      ldap.FilterParser.parseString(fillFilter(property, 'x'))
    } catch (error) {
      throw new Error(
        `[${prefix.replace('<name>', name)}.${property}] is not a valid LDAP filter: ${describeError(error)}`,
      )
    }
  }
  const tlsOptions = url.startsWith('ldaps:') ? await directoryTls(settings) : undefined

  const attributeOf = (entry: Entry, attribute: string): string[] => {
    const key = Object.keys(entry).find((one) => one.toLowerCase() === attribute.toLowerCase())
    const value = key === undefined ? [] : entry[key]
    return (Array.isArray(value) ? value : [value]).map(String)
  }

  /** Connections on which the directory has responded. */
  const answered = new WeakSet<Client>()

  /** Searches as the bind user. Like Druid 37, takes the first entry. */
  async function findUser(client: Client, user: string) {
    if (bindUser !== undefined) {
      await client.bind(bindUser, bindPassword)
      answered.add(client)
    }
    const { searchEntries } = await client.search(baseDn, {
      scope: 'sub',
      filter: fillFilter('userSearch', user),
      attributes: [userAttribute, 'memberOf'],
    })
    const [entry] = searchEntries
    if (!entry) return undefined
    const groups = new Set(attributeOf(entry, 'memberOf'))
    if (groupBaseDn !== undefined) {
      const found = await client.search(groupBaseDn, {
        scope: 'sub',
        filter: fillFilter('groupSearch', entry.dn),
        attributes: ['1.1'],
      })
      for (const { dn } of found.searchEntries) groups.add(dn)
    }
    const [identity = user] = attributeOf(entry, userAttribute)
    return { dn: entry.dn, identity, groups: [...groups] }
  }

  /** Returns whether the directory accepts the password of an entry. */
  async function proves(client: Client, dn: string, password: string): Promise<boolean> {
    try {
      await client.bind(dn, password)
      return true
    } catch (error) {
      if (error instanceof ldap.ResultCodeError && !isUnavailable(error)) return false
      throw error
    }
  }

  const isUnavailable = (error: unknown): boolean =>
    error instanceof ldap.BusyError ||
    error instanceof ldap.UnavailableError ||
    error instanceof ldap.UnwillingToPerformError ||
    error instanceof ldap.OperationsError

  // The library reports timeouts only in the message.
  const isLate = (error: unknown): boolean => error instanceof Error && error.message.endsWith('timed out')

  /**
   * A failed request that does not mean that the directory is unavailable: it closed the connection because of one
   * name.
   */
  class RefusedName extends Error {}

  const guard = createDirectoryGuard(
    settings.getNamed(`${prefix}.readTimeout`, name),
    (error) => !(error instanceof RefusedName) && !(error instanceof Failure),
  )

  /** Queries the directory over a new connection, unless it is paused because it did not respond. */
  async function search<Answer>(
    question: (client: Client) => Promise<Answer>,
  ): Promise<Answer | { readonly kind: 'unavailable'; readonly message: string }> {
    try {
      return await guard.run((signal) => searchNow(question, signal))
    } catch (error) {
      // Too many concurrent logins are not a problem of the directory.
      if (error instanceof Failure) throw error
      if (!(error instanceof DirectoryAway) || !error.isRepeated)
        onTrouble(
          `The directory of authenticator [${name}] is unavailable; rejecting logins that need it with 503`,
          { url, error: describeError(error) },
        )
      return {
        kind: 'unavailable',
        message: `The directory of authenticator [${name}] is unavailable; try again`,
      }
    }
  }

  async function searchNow<Answer>(
    question: (client: Client) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    let socket: Socket | undefined
    const kept = <Opened extends Socket>(opened: Opened): Opened => {
      socket = opened
      return opened
    }
    const client = new ldap.Client({
      url,
      connectTimeout: settings.getNamed(`${prefix}.connectTimeout`, name),
      timeout: settings.getNamed(`${prefix}.readTimeout`, name),
      strictDN: false,
      createConnection: ((port: number, host: string) => kept(connect(port, host))) as typeof connect,
      createSecureConnection: ((port: number, host: string, options: ConnectionOptions) =>
        kept(connectTls(port, host, options))) as typeof connectTls,
      ...(tlsOptions ? { tlsOptions } : {}),
    })
    // Close the connection of an aborted request in any state.
    signal.addEventListener('abort', () => socket?.destroy())
    try {
      return await question(client)
    } catch (error) {
      // The directory works for other names, so a login with this one must not affect them.
      if (answered.has(client) && !isLate(error)) throw new RefusedName(describeError(error))
      throw error
    } finally {
      client
        .unbind()
        .catch(() => undefined)
        .finally(() => socket?.destroy())
    }
  }

  return {
    verify: async (user, password, countAttempt) => {
      // RFC 4513 5.1.2: many directories report success for a bind with an empty password, which proves nothing.
      if (password === '' || user === '') return { kind: 'wrong' }
      return await search(async (client): Promise<LoginVerdict> => {
        const found = await findUser(client, user)
        const waitSeconds = found && (await countAttempt(found.identity))
        if (found && waitSeconds !== undefined)
          return { kind: 'throttled', retryAfterSeconds: waitSeconds, identity: found.identity }
        // An unknown user needs the same messages as a wrong password, and so does a password that cannot be sent as
        // typed. Some directories cut a password at its first NUL.
        const isSendable = password.isWellFormed() && !password.includes('\0')
        const dn = found && isSendable ? found.dn : `cn=${randomUUID()},${baseDn}`
        const isProved = (await proves(client, dn, password)) && isSendable
        if (!found) return { kind: 'unknown' }
        return isProved
          ? { kind: 'known', identity: found.identity, groups: found.groups }
          : { kind: 'wrong', identity: found.identity }
      })
    },
    find: (user) =>
      search(async (client): Promise<LdapFinding> => {
        const found = await findUser(client, user)
        return found ? { kind: 'known', identity: found.identity, groups: found.groups } : { kind: 'unknown' }
      }),
  }
}

/** Returns the TLS options for directories. They have their own trust store, and always validate the host name. */
async function directoryTls(settings: Settings) {
  const path = settings.get('svc.auth.basic.ssl.trustStorePath') as string
  const ca = await readTrustStore({
    path,
    type: settings.get('svc.auth.basic.ssl.trustStoreType'),
    password: settings.get('svc.auth.basic.ssl.trustStorePassword'),
    property: 'svc.auth.basic.ssl.trustStorePath',
  })
  return {
    ca: [...ca],
    minVersion: minTlsVersionOf(settings.get('svc.auth.basic.ssl.protocol')),
    rejectUnauthorized: true,
  }
}
