/** Permissions: what a caller may do with which resource. */

export {
  administratorsOf,
  filteredGroups,
  type MappedRoleDirectory,
  mappingsOf,
  permissionsOf,
  permissionsOfRoles,
} from './administrators.ts'
export { type AccessExplanation, explainAccess } from './explain.ts'
export { compileGroupPattern, isGroupPattern } from './group-pattern.ts'
export { longestNamePattern, parsePermissions } from './parse-permissions.ts'
export { allowedPasswordLengths, hasAllowedLength } from './password-length.ts'
export * from './permission.ts'
