/** Druid's own console, served from its files for a cluster. */
export { serveDruidConsole } from './serve-druid-console.ts'
