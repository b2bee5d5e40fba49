/** The development certificates of a home: one authority, a key store for each instance, and bad ones for tests. */
export { trustStoreFile } from './authority.ts'
export * from './ensure-certificates.ts'
export { ensureRevocations, revocationFile } from './revocations.ts'
export type { StoreType } from './store-files.ts'

/** What makes certificates; loaded when it is needed, as the library takes its time. */
export async function pkiTools() {
  const [manage, badSet] = await Promise.all([import('./manage.ts'), import('./bad-set.ts')])
  return { ...manage, ...badSet }
}
