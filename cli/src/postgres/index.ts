/** The embedded Postgres of a home: creates its data folder, and defines how to run its server. */
export * from './binaries.ts'
export * from './data-folder.ts'
export * from './run-as.ts'
export * from './server.ts'
