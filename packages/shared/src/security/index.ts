/** Authentication and authorization of callers, and the identity of the servers in calls to each other. */
export { basicHeader, readBasicHeader } from './basic-header.ts'
export {
  allowsEverything,
  authorizerOptions,
  type Caller,
  createCallerCache,
  decided,
  permits,
} from './caller.ts'
export { callerAddressHeader, createAddressReader, createAddressSigner } from './caller-address.ts'
export { loginChain, reachableAuthenticators } from './chain.ts'
export {
  accessTo,
  assertAccess,
  mayAccess,
  permittedItems,
  permittedNames,
} from './datasource-access.ts'
export { createEscalator, type Escalator } from './escalator.ts'
export { type LdapLogins, openLdapLogins } from './ldap-logins.ts'
export { LdapTrace, LdapTraces } from './ldap-trace.ts'
export { notVerified } from './login-attempts.ts'
export type { LoginOrigin } from './login-types.ts'
export { compileNamePattern, countNamePatternSteps } from './name-pattern.ts'
export { type Credentials, hashPassword } from './password-hash.ts'
export { type LdapProbeResult, ldapFilterProblem, probeLdap } from './probe-ldap.ts'
export { type Recognition, recognize } from './recognize.ts'
export { createSecurity, type Security, type SecurityOptions } from './security.ts'
export { unsecuredPaths } from './unsecured-paths.ts'
export { passwordTest, storedCredentials, type UsersAndRoles, type UsersSource } from './users-and-roles.ts'
