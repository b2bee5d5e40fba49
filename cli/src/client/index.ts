/** Clients for the services of a running cluster, logged in as its admin if required. */
export * from './cluster-client.ts'
export * from './connection-error.ts'
export * from './input-text.ts'
export * from './request.ts'
