/** Permissions: what a caller may do with which resource. */

export {
  type AuthorizerRoles,
  filteredGroups,
  mappingsOf,
  permissionsOf,
  permissionsOfRoles,
} from './authorizer-roles.ts'
export { parseDistinguishedName } from './distinguished-name.ts'
export { type AccessExplanation, type ExplainedAccess, explainAccess } from './explain.ts'
export { isBalancedFilter } from './ldap-filter.ts'
export { compileGroupPattern, isGroupPattern } from './ldap-group-pattern.ts'
export {
  type ChainOutcome,
  type HasPassword,
  isHiddenUser,
  type LoginChain,
  type LoginVerdict,
  walkChain,
  walkChainNow,
} from './login-chain.ts'
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
