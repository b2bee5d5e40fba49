/** The build of the console, which the router serves. */
export { buildConsole, ensureConsole, keepConsoleCurrent } from './build-console.ts'
