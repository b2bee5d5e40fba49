/** Permissions: what a caller may do with which resource. */

export {
  type AuthorizerRoles,
  filteredGroups,
  mappingsOf,
  permissionsOf,
  permissionsOfRoles,
} from './authorizer-roles.ts'
export { type AuthenticatorStep, type DirectoryStep, directoryStepText } from './directory-step.ts'
export { parseDistinguishedName } from './distinguished-name.ts'
export { type AccessExplanation, type ExplainedAccess, explainAccess } from './explain.ts'
export { generatedPassword, isGeneratedPassword } from './generated-password.ts'
export { handshakeAdvice } from './handshake-advice.ts'
export { fillFilter, filterFormatProblem, hasPlaceholder, isBalancedFilter } from './ldap-filter.ts'
export { compileGroupPattern, isGroupPattern } from './ldap-group-pattern.ts'
export {
  type ChainOutcome,
  type DirectoryProblem,
  type HasPassword,
  isHiddenUser,
  type LoginChain,
  type LoginQuestion,
  type LoginVerdict,
  walkChain,
  walkChainNow,
} from './login-chain.ts'
export {
  chainFailure,
  type LoginFailure,
  type LoginFailureCause,
  loginFailure,
  refusalReasons,
  tooManyFailuresText,
} from './login-failure.ts'
export { allowedPasswords, isAllowedPassword, maxPasswordLength } from './login-texts.ts'
export { missingPermission, resourceText } from './missing-permission.ts'
export {
  isPlainName,
  maxNamePatternLength,
  parsePermissions,
  permissionSchema,
  permissionsSchema,
  shownPermissionSchema,
} from './parse-permissions.ts'
export * from './permission.ts'
export {
  certificateRows,
  type DescribedCertificate,
  type Recorded,
  type RefusedHandshake,
  type RefusedRequest,
  refusalsAtRouter,
} from './refusals.ts'
