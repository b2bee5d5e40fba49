/** The journals of the servers of a cluster: calls between them, and what they refused. */
export * from './gather-calls.ts'
export * from './gather-from-servers.ts'
