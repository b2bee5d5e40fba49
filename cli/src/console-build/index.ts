/** The build of the console, which the router serves, and the console without a cluster. */
export { buildConsole, ensureConsole, keepConsoleCurrent } from './build-console.ts'
export { type ServedPage, serveLocally } from './local-server.ts'
export { serveSnapshotPage, writeSnapshotPage } from './snapshot-page.ts'
