/** The users that a cluster stores: their logins and roles. */
export * from './user-store.ts'
export * from './users-table.ts'
