/** Who callers are, what they may do, and the identity of the servers among themselves. */
export { basicHeader } from './basic-header.ts'
export {
  type AuthorizerOptions,
  authorizerOptions,
  type Caller,
  permissionsOfCaller,
  permits,
} from './caller.ts'
export type { AuthorizerDirectory, DirectorySource, SecurityDirectory } from './directory.ts'
export type { DirectoryLogins, DirectoryVerdict } from './directory-logins.ts'
export { createEscalator, type Escalator } from './escalator.ts'
export { openDirectoryLogins } from './ldap-logins.ts'
export { compileNamePattern, isNamePattern } from './name-pattern.ts'
export { type Credentials, hashPassword } from './password-hash.ts'
export { createSecurity, type LoginOrigin, type Security, type SecurityOptions } from './security.ts'
export type { LoginThrottle } from './throttle.ts'
