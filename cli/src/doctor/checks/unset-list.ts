import { placeOf, type Server } from '../configuration.ts'
import { authorizersProperty, chainProperty, definedNames } from '../logins.ts'

/**
 * Describes a list of authenticators or authorizers that is not set: which names are configured anyway, and where and what the
 * problem is.
 */
export function unsetList(server: Server, kind: 'authenticator' | 'authorizer') {
  const property = kind === 'authenticator' ? chainProperty : authorizersProperty
  const names = definedNames(server, kind)
  const [configured] = names
  return {
    names,
    at: placeOf(server, configured === undefined ? property : `druid.auth.${kind}.${configured}.type`),
    problem:
      configured === undefined
        ? `[${property}] is not set`
        : `The ${kind} [${configured}] is configured, but [${property}] is not set`,
  }
}
