import { type DirectoryAddress, directoryAddress } from '@svc/shared/config'
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

/** The name and type of the authorizer that Druid has without any configuration. */
const builtInAuthorizer = 'allowAll'

/** Returns whether no authorizers are listed. Druid then allows everything, whatever an authenticator or authorizer names. */
export const allowsEverything = ({ properties }: Server): boolean => !properties.has(authorizersProperty)

/** Returns the authorizers of a server; empty if they are not known. */
export const authorizersOf = (server: Server): readonly string[] =>
  allowsEverything(server) ? [builtInAuthorizer] : (listOf(server, authorizersProperty) ?? [])

/** Returns the type of an authorizer; undefined if it has none, so that servers do not start. */
export const authorizerTypeOf = (server: Server, name: string): string | undefined =>
  textOf(server, `druid.auth.authorizer.${name}.type`) ??
  (name === builtInAuthorizer ? builtInAuthorizer : undefined)

/** Types that accept callers without a login. */
const openTypes = new Set(['allowAll', 'anonymous'])

/** Returns whether an authenticator accepts callers without a login. */
export const acceptsEveryone = ({ type }: Authenticator): boolean => openTypes.has(type ?? '')

/** Returns the authenticators of the chain, in order; none if it is not set. */
export function chainOf(server: Server): readonly Authenticator[] {
  return (listOf(server, chainProperty) ?? []).map((name) => authenticatorOf(server, name))
}

/** Returns whether the chain is empty or not a list, so that the server does not start. */
export function hasInvalidChain(server: Server): boolean {
  const isKnown = textOf(server, chainProperty) !== undefined
  return isKnown && !listOf(server, chainProperty)?.length
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

/** Properties that only a validator of type `ldap` has. */
const directoryEnds = ['url', 'bindUser', 'bindPassword', 'baseDn', 'userSearch', 'userAttribute'] as const

/** Returns the properties of an authenticator that describe a directory. */
export const directoryPropertiesOf = (
  { properties }: Server,
  { prefix }: Pick<Authenticator, 'prefix'>,
): readonly string[] =>
  directoryEnds
    .map((end) => `${prefix}.credentialsValidator.${end}`)
    .filter((property) => properties.has(property))

/** Returns the LDAP authenticators of the chain. */
export const directoriesOf = (server: Server): readonly Authenticator[] =>
  chainOf(server).filter(({ users }) => users === 'directory')

/** Returns the URL of the directory of an authenticator. */
export const directoryUrl = (server: Server, { prefix }: Authenticator): string | undefined =>
  textOf(server, `${prefix}.credentialsValidator.url`)

/** Returns the URLs in a property: Java tries several, separated by spaces, until it reaches one. */
export const urlsIn = (text: string): readonly string[] => text.trim().split(/\s+/)

/** Returns the addresses of the directory of an authenticator, in the order in which Java tries them; none without valid URLs. */
export function addressesOf(server: Server, authenticator: Authenticator): readonly DirectoryAddress[] {
  const addresses = urlsIn(directoryUrl(server, authenticator) ?? '').map(directoryAddress)
  return addresses.every((address) => address !== undefined) ? addresses : []
}
