/** The files of the console, as the router and `./svc console` serve them. */
export { type ConsoleSource, createConsoleFiles, pageFor } from './console-files.ts'
