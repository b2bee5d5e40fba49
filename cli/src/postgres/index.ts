/** The embedded Postgres of a home: makes its data folder and says how its server is run. */
export * from './binaries.ts'
export * from './data-folder.ts'
export * from './run-as.ts'
export * from './server.ts'
