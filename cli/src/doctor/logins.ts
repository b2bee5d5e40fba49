import { flagOf, listOf, type Server, textOf } from './configuration.ts'

/** An authenticator of the chain, as its properties describe it. */
export interface Authenticator {
  readonly name: string
  /** Undefined if it has no type, so that servers do not start. */
  readonly type: string | undefined
  /** Where the users of a basic authenticator are. */
  readonly users: 'stored' | 'directory' | undefined
  /** Whether logins of unknown users continue with the next authenticator. */
  readonly skipsUnknown: boolean
  readonly authorizer: string | undefined
  /** The beginning of its properties. */
  readonly prefix: string
}

/** The only internal user that Druid creates, with `initialInternalClientPassword`. */
export const createdInternalUser = 'druid_system'

/** Returns the property of an authenticator with the password of the administrator or of the internal user. */
export const initialPasswordOf = ({ prefix }: Pick<Authenticator, 'prefix'>, user: string): string =>
  `${prefix}.${user === 'admin' ? 'initialAdminPassword' : 'initialInternalClientPassword'}`

export const chainProperty = 'druid.auth.authenticatorChain'
export const authorizersProperty = 'druid.auth.authorizers'

/** Types that accept callers without a login. */
const openTypes = new Set(['allowAll', 'anonymous'])

/** Returns whether an authenticator accepts callers without a login. */
export const acceptsEveryone = ({ type }: Authenticator): boolean => openTypes.has(type ?? '')

/** Returns the authenticators of the chain, in order; none if it is not set. */
export function chainOf(server: Server): readonly Authenticator[] {
  return (listOf(server, chainProperty) ?? []).map((name) => authenticatorOf(server, name))
}

function authenticatorOf(server: Server, name: string): Authenticator {
  const prefix = `druid.auth.authenticator.${name}`
  const type = textOf(server, `${prefix}.type`) ?? (name === 'allowAll' ? name : undefined)
  const isLdap = textOf(server, `${prefix}.credentialsValidator.type`) === 'ldap'
  return {
    name,
    type,
    users: type !== 'basic' ? undefined : isLdap ? 'directory' : 'stored',
    skipsUnknown: flagOf(server, `${prefix}.skipOnFailure`, false),
    authorizer: textOf(server, `${prefix}.authorizerName`),
    prefix,
  }
}

/** Returns the authenticators of the chain that a login with user name and password can reach. */
export function reachableBasics(server: Server): readonly Authenticator[] {
  const chain = chainOf(server)
  const last = chain.findIndex((one) => acceptsEveryone(one) || (one.type === 'basic' && !one.skipsUnknown))
  return (last === -1 ? chain : chain.slice(0, last + 1)).filter(({ type }) => type === 'basic')
}

/** Returns whether the chain requires a login with user name and password. */
export const requiresBasicLogin = (server: Server): boolean =>
  chainOf(server).some(({ type }) => type === 'basic')

/** Returns the names of the configured authenticators or authorizers, whether they are used or not. */
export function definedNames(server: Server, kind: 'authenticator' | 'authorizer'): readonly string[] {
  const pattern = new RegExp(`^druid\\.auth\\.${kind}\\.([^.]+)\\.type$`)
  return [...server.properties.keys()].flatMap((name) => pattern.exec(name)?.[1] ?? [])
}

/** The directory of an LDAP authenticator. */
export interface DirectoryAddress {
  readonly isTls: boolean
  readonly host: string
  readonly port: number
}

/** Returns the address in a directory URL; undefined if it is not a valid one. */
export function directoryAddress(url: string | undefined): DirectoryAddress | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined
  const { protocol, hostname, port, username, password } = new URL(url)
  if (!/^ldaps?:$/.test(protocol) || hostname === '' || username !== '' || password !== '') return undefined
  const isTls = protocol === 'ldaps:'
  return { isTls, host: hostname, port: Number(port) || (isTls ? 636 : 389) }
}

/** Returns the LDAP authenticators of the chain. */
export const directoriesOf = (server: Server): readonly Authenticator[] =>
  chainOf(server).filter(({ users }) => users === 'directory')

/** Returns the URL of the directory of an authenticator. */
export const directoryUrl = (server: Server, { prefix }: Authenticator): string | undefined =>
  textOf(server, `${prefix}.credentialsValidator.url`)
