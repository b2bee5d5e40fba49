/** Talks to the services of a running cluster, as its admin where that is needed. */
export * from './cluster-client.ts'
export * from './input-text.ts'
export * from './request.ts'
