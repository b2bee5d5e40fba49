/** Who callers are, what they may do, and the identity of the servers among themselves. */
export { basicHeader } from './basic-header.ts'
export { type Caller, permits } from './caller.ts'
export type { AuthorizerDirectory, DirectorySource, SecurityDirectory } from './directory.ts'
export { createEscalator, type Escalator } from './escalator.ts'
export { isNamePattern } from './name-pattern.ts'
export { type Credentials, hashPassword } from './password-hash.ts'
export { createSecurity, type LoginOrigin, type Security } from './security.ts'
