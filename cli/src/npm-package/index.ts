/** The types of the module for tests. It starts a program of the package, so only the package can contain the module itself. */
export type * from './testing-types.ts'
