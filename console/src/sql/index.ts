/** SQL: an editor, the result as a table, cancel, and download. */
export { SqlScreen } from './sql-screen.tsx'
