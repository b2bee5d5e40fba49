/** Permissions: what a caller may do with which resource. */
export * from './permission.ts'
