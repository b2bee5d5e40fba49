import type { Settings } from '../config/index.ts'
import { createDeepStorage, type DeepStorage } from './deep-storage.ts'
import type { FileStore } from './file-store.ts'
import { createFolderStore } from './folder-store.ts'
import type { S3Connection } from './open-s3.ts'
import { createS3Store, type S3Place } from './s3-store.ts'

/** Where a store is. It is plain data, which a process can send to another one. */
export type StoreConfig =
  | { readonly type: 'local'; readonly rootDirectory: string }
  | ({ readonly type: 's3' } & S3Place)

const idleTimeoutMs = 30_000

/** Returns where the properties of a server say that deep storage is. */
export function deepStorageConfig(settings: Settings): StoreConfig {
  if (settings.get('svc.storage.type') === 'local')
    return { type: 'local', rootDirectory: settings.get('svc.storage.storageDirectory') }
  const bucket = settings.get('svc.storage.bucket') ?? ''
  return { type: 's3', bucket, baseKey: settings.get('svc.storage.baseKey'), connection: s3Of(settings) }
}

/** Returns where the properties of a server say that task logs are. */
export function taskLogConfig(settings: Settings): StoreConfig {
  if (settings.get('svc.indexer.logs.type') === 'file')
    return { type: 'local', rootDirectory: settings.get('svc.indexer.logs.directory') }
  const bucket = settings.get('svc.indexer.logs.s3Bucket') ?? ''
  return {
    type: 's3',
    bucket,
    baseKey: settings.get('svc.indexer.logs.s3Prefix'),
    connection: s3Of(settings),
  }
}

const s3Of = (settings: Settings): S3Connection => ({
  endpointUrl: settings.get('svc.s3.endpoint.url'),
  region: settings.get('svc.s3.endpoint.signingRegion'),
  accessKey: settings.get('svc.s3.accessKey'),
  secretKey: settings.get('svc.s3.secretKey'),
  isPathStyle: settings.get('svc.s3.enablePathStyleAccess'),
  caPath: settings.get('svc.s3.tls.caPath'),
  retryTimeoutMs: settings.get('svc.s3.retryTimeout'),
  idleTimeoutMs,
})

/** Opens a store. `title` says what it is, in messages. Nothing is contacted before the first operation. */
export function openStore(title: string, config: StoreConfig): FileStore {
  return config.type === 'local'
    ? createFolderStore({ title, ...config })
    : createS3Store({ title, ...config })
}

/** Opens the store of segment files. */
export const openDeepStorage = (config: StoreConfig): DeepStorage =>
  createDeepStorage(openStore('deep storage', config))
