/** The development certificates of a home: one authority, a key store for each instance, and invalid ones for tests. */
export { trustStoreFile } from './authority.ts'
export * from './ensure-certificates.ts'
export { ensureRevocations, revocationFile } from './revocations.ts'
export type { StoreType } from './store-files.ts'

/** The functions that create certificates; loaded on demand, because the library is slow to load. */
export async function pkiTools() {
  const [manage, badSet, issue, storeFiles] = await Promise.all([
    import('./manage.ts'),
    import('./bad-set.ts'),
    import('./issue.ts'),
    import('./store-files.ts'),
  ])
  return { ...manage, ...badSet, ...issue, ...storeFiles }
}
