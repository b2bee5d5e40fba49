/** Calls between the servers of a cluster, as groups of equal calls. */
export * from './group-calls.ts'
