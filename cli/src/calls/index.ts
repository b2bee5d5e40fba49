/** The calls that the servers of a cluster made among themselves, gathered from all of them. */
export * from './gather-calls.ts'
