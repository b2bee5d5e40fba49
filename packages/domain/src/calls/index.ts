/** Calls between the servers of a cluster, as groups of equal calls, and the names of these servers. */
export * from './group-calls.ts'
export { serverNameAt } from './server-name.ts'
