import { Failure, invalidInput, notFound } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'

const base = '/proxy/coordinator/svc-ext/basic-security'

/** The names of the authenticator and the authorizer whose users a command means. */
export interface StoreNames {
  readonly authenticator?: string | undefined
  readonly authorizer?: string | undefined
}

/** A user of a cluster. */
export interface User {
  readonly user: string
  /** Whether the user has a password here; users of a directory have none. */
  readonly hasPassword: boolean
  readonly roles: readonly string[]
}

/** What a new user gets. Without a password, the user cannot log in. */
export interface NewUser {
  readonly password?: string | undefined
  readonly roles: readonly string[]
}

/** Reads and changes the users of a cluster. Its functions throw a Failure if the cluster rejects them. */
export interface UserStore {
  list(): Promise<User[]>
  /** Throws notFound if there is no such user. */
  get(user: string): Promise<User>
  /** Creates a user with a password and roles. If a part of it fails, there is no such user afterward. */
  create(user: string, given: NewUser): Promise<void>
  setPassword(user: string, password: string): Promise<void>
  addRole(user: string, role: string): Promise<void>
  removeRole(user: string, role: string): Promise<void>
  /** Throws notFound if there is no such user. */
  remove(user: string): Promise<void>
}

/** The users of an authenticator and an authorizer, by default of the only ones that the cluster has. */
export async function openUserStore(client: ClusterClient, names: StoreNames = {}): Promise<UserStore> {
  const authenticator = names.authenticator ?? (await onlyName(client, 'authentication', '--authenticator'))
  const authorizer = names.authorizer ?? (await onlyName(client, 'authorization', '--authorizer'))
  const logins = `${base}/authentication/db/${encodeURIComponent(authenticator)}/users`
  const accounts = `${base}/authorization/db/${encodeURIComponent(authorizer)}/users`
  async function read(user: string): Promise<User | undefined> {
    const [login, account] = await Promise.all([
      client.send('GET', at(logins, user)).catch(undefinedIfMissing),
      client.send('GET', at(accounts, user)).catch(undefinedIfMissing),
    ])
    if (login === undefined && account === undefined) return undefined
    return {
      user,
      hasPassword: ((login as { credentials?: unknown } | undefined)?.credentials ?? null) !== null,
      roles: (account as { roles?: string[] } | undefined)?.roles ?? [],
    }
  }
  const setPassword = async (user: string, password: string) => {
    await client.send('POST', at(logins, user, '/credentials'), { password })
  }
  const changeRole = async (method: 'POST' | 'DELETE', user: string, role: string) => {
    await client.send(method, at(accounts, user, `/roles/${encodeURIComponent(role)}`))
  }
  return {
    list: async () => {
      const lists = (await Promise.all([
        client.send('GET', logins),
        client.send('GET', accounts),
      ])) as string[][]
      const users: User[] = []
      for (const name of [...new Set(lists.flat())].sort()) {
        const user = await read(name)
        // A user may be removed in the meantime.
        if (user) users.push(user)
      }
      return users
    },
    get: async (user) => {
      const found = await read(user)
      if (!found) throw unknownUser(user)
      return found
    },
    create: async (user, { password, roles }) => {
      await client.send('POST', at(logins, user))
      const undo = [at(logins, user)]
      try {
        await client.send('POST', at(accounts, user))
        undo.unshift(at(accounts, user))
        if (password !== undefined) await setPassword(user, password)
        for (const role of roles) await changeRole('POST', user, role)
      } catch (error) {
        for (const path of undo) await client.send('DELETE', path).catch(() => undefined)
        throw error
      }
    },
    setPassword,
    addRole: (user, role) => changeRole('POST', user, role),
    removeRole: (user, role) => changeRole('DELETE', user, role),
    remove: async (user) => {
      const deleted = [
        await client.send('DELETE', at(accounts, user)).then(() => true, undefinedIfMissing),
        await client.send('DELETE', at(logins, user)).then(() => true, undefinedIfMissing),
      ]
      if (!deleted.includes(true)) throw unknownUser(user)
    },
  }
}

/** The path of a user. Throws a Failure for a name that a path cannot contain. */
function at(path: string, user: string, rest = ''): string {
  if (['', '.', '..'].includes(user.trim()))
    throw invalidInput(`Invalid user name [${user}]: expected a non-blank name other than [.] or [..]`)
  return `${path}/${encodeURIComponent(user)}${rest}`
}

const unknownUser = (user: string): Failure =>
  notFound(`User [${user}] does not exist. ./svc users lists all users.`)

/** For a user that one of the two stores does not have: Druid answers with status 400. */
function undefinedIfMissing(error: unknown): undefined {
  const isMissing = error instanceof Failure && /does not exist/.test(error.message)
  if (!isMissing) throw error
}

/** The name of the only store, or of the only one with users: directories are listed, too, but store none. */
async function onlyName(
  client: ClusterClient,
  kind: 'authentication' | 'authorization',
  option: string,
): Promise<string> {
  const names = Object.keys((await client.send('GET', `${base}/${kind}/loadStatus`)) as object)
  const [only, ...others] = names.length > 1 ? await namesWithUsers(client, kind, names) : names
  if (only === undefined)
    throw notFound(
      'The cluster does not store users: either it does not require logins, or it checks all logins against an LDAP directory',
    )
  if (others.length > 0)
    throw invalidInput(`Missing value for [${option}]: expected one of [${names.join(', ')}]`)
  return only
}

/** The names of the stores with users, or all names unless exactly one store has users. */
async function namesWithUsers(
  client: ClusterClient,
  kind: 'authentication' | 'authorization',
  names: readonly string[],
): Promise<readonly string[]> {
  const counts = await Promise.all(
    names.map(async (name) => {
      const users = await client.send('GET', `${base}/${kind}/db/${encodeURIComponent(name)}/users`)
      return (users as string[]).length
    }),
  )
  const found = names.filter((_, index) => counts[index]! > 0)
  return found.length === 1 ? found : names
}
