/** Permissions: what a caller may do with which resource. */

export { administratorsOf, permissionsOf } from './administrators.ts'
export { isGroupPattern } from './group-pattern.ts'
export { longestNamePattern, parsePermissions } from './parse-permissions.ts'
export * from './permission.ts'
