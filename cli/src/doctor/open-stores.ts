import { createPrivateKey } from 'node:crypto'
import { certificatesIn, isJks, readStoreEntries, type StoreEntries, withIssuers } from '@svc/shared/tls'
import { nonFileAt, readRegularFile } from '../regular-files/index.ts'
import type { Configuration } from './configuration.ts'
import type { Facts } from './facts.ts'
import type { LocationMap } from './location-map.ts'
import { javaTrustStore, type StoreContent, type StoreUse, storeUses } from './stores.ts'

/** Opens the stores of all servers, each file once for each password. */
export async function openStores(
  { servers }: Configuration,
  locations: LocationMap,
): Promise<Facts['storeOf']> {
  const opened: { readonly use: StoreUse; readonly content: StoreContent | undefined }[] = []
  const find = (use: StoreUse) => opened.find((one) => isSameStore(one.use, use))?.content
  for (const use of servers.flatMap((server) =>
    [...storeUses(server), javaTrustStore(server) ?? []].flat(),
  )) {
    // Without its password, a key store would be reported as damaged.
    if (find(use) !== undefined || (use.kind === 'key' && use.password === undefined)) continue
    opened.push({ use, content: await openStore(use, locations.fileOf(use.path)) })
  }
  return find
}

const isSameStore = (one: StoreUse, other: StoreUse): boolean =>
  one.path === other.path &&
  one.kind === other.kind &&
  isSamePassword(one.password, other.password) &&
  isSamePassword(one.keyPassword, other.keyPassword)

const isSamePassword = (one: StoreUse['password'], other: StoreUse['password']): boolean =>
  one === undefined || other === undefined ? one === other : one.isEqual(other)

async function openStore(
  { password, keyPassword }: StoreUse,
  file: string,
): Promise<StoreContent | undefined> {
  const is = nonFileAt(file)
  if (is !== undefined) return { kind: 'notAFile', is }
  let bytes: Buffer
  try {
    bytes = readRegularFile(file)
  } catch {
    return { kind: 'missing', file }
  }
  // Java reads the certificates of such a store without its password.
  if (password === undefined && isJks(bytes)) return undefined
  try {
    const entries = await readStoreEntries(bytes, password?.reveal() ?? '', keyPassword?.reveal() ?? '')
    // In a PKCS12 store, keys have the password of the store.
    const isKeyOpen = isJks(bytes) || keyPassword === undefined || isSamePassword(password, keyPassword)
    return isKeyOpen ? contentOf(entries) : { kind: 'closed', reason: 'keyPassword' }
  } catch (error) {
    const { message } = error as Error
    if (/recover key/i.test(message)) return { kind: 'closed', reason: 'keyPassword' }
    return { kind: 'closed', reason: /password|MAC/i.test(message) ? 'password' : 'format' }
  }
}

function contentOf(entries: StoreEntries): StoreContent {
  const others = Object.values(entries).flatMap(({ ca }) => certificatesIn(ca ?? ''))
  const keys = Object.entries(entries).flatMap(([alias, { key, cert }]) => {
    if (key === undefined) return []
    const stored = certificatesIn(cert ?? '')
    const [leaf] = stored
    const matches = leaf?.checkPrivateKey(createPrivateKey(key)) ?? false
    return [{ alias, matches, chain: withIssuers(stored, others) }]
  })
  return { kind: 'open', keys, trusted: others }
}
