/** DuckDB as svc opens it everywhere: in memory, without extensions, with access only to the given files. */
export { type LockedDatabase, openLockedDatabase } from './open-locked-database.ts'
export * from './sql.ts'
export { storedTypes } from './stored-types.ts'
