/** Authentication and authorization of callers, and the identity of the servers in calls to each other. */
export { basicHeader } from './basic-header.ts'
export {
  type AuthorizerOptions,
  allowsEverything,
  authorizerOptions,
  type Caller,
  createCallerCache,
  permits,
} from './caller.ts'
export {
  type CallerAddress,
  callerAddressHeader,
  createAddressReader,
  createAddressSigner,
  type HandedOnRequest,
} from './caller-address.ts'
export { hiddenUserTest, reachableAuthenticators } from './chain.ts'
export { createEscalator, type Escalator } from './escalator.ts'
export { type LdapLogins, type LdapVerdict, openLdapLogins } from './ldap-logins.ts'
export { compileNamePattern, isNamePattern } from './name-pattern.ts'
export { type Credentials, hashPassword } from './password-hash.ts'
export { type Recognition, recognize } from './recognize.ts'
export {
  createSecurity,
  type LoginOrigin,
  type RefusalReason,
  type Security,
  type SecurityOptions,
  unsecuredPaths,
} from './security.ts'
export type { LoginAttempt, LoginThrottle } from './throttle.ts'
export {
  type AuthorizerDirectory,
  type DirectorySource,
  type SecurityDirectory,
  storedCredentials,
} from './users-and-roles.ts'
