/** DuckDB as it is opened everywhere: in memory, without extensions, reaching nothing but the files it is given. */
export {
  type LockedDatabase,
  type LockedDatabaseOptions,
  openLockedDatabase,
} from './open-locked-database.ts'
export * from './sql.ts'
export { storedTypes } from './stored-types.ts'
