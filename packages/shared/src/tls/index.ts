/** Key stores, trust stores, and certificate revocation lists of servers and clients. */
export * from './certificate-ends.ts'
export * from './follow-stores.ts'
export * from './key-store.ts'
export * from './read-store-entries.ts'
export * from './revocation-lists.ts'
export type { StoreEntries } from './store-entries.ts'
export * from './tls-stores.ts'
export * from './versions.ts'
