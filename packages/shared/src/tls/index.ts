/** Key stores, trust stores and lists of revoked certificates, as servers and clients use them. */
export * from './certificate-ends.ts'
export * from './follow-stores.ts'
export * from './key-store.ts'
export * from './revocation-lists.ts'
export * from './tls-stores.ts'
