/** The calls between the servers of a cluster, gathered from all of them. */
export * from './gather-calls.ts'
