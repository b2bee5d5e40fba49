/** The build of the console, which the router serves. */
export { buildConsole, keepConsoleCurrent } from './build-console.ts'
