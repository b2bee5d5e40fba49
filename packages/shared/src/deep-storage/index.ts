/** Deep storage: the folder or the S3 bucket that keeps every segment file permanently, whichever servers load it. */
export { createLocalDeepStorage, type DeepStorage } from './deep-storage.ts'
export { createDirectory, errorCode, syncDirectory } from './durable-files.ts'
export { checksumOfFile, type FileChecksum } from './file-checksum.ts'
export type { FileStore } from './file-store.ts'
export { createFolderStore } from './folder-store.ts'
export type { S3Connection } from './open-s3.ts'
export { safeFileName } from './safe-file-name.ts'
export { segmentPath } from './segment-path.ts'
export {
  deepStorageConfig,
  openDeepStorage,
  openStore,
  type StoreConfig,
  taskLogConfig,
} from './storage-config.ts'
export { isDamaged, isDiskFull, storageFailure } from './storage-failure.ts'
