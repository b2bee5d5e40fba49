/** Deep storage: the folder that keeps every segment file permanently, whichever servers load it. */
export { createDirectory, errorCode, syncDirectory } from './durable-files.ts'
export { checksumOfFile, type FileChecksum } from './file-checksum.ts'
export { createLocalDeepStorage, type DeepStorage, type StoredFile } from './local-deep-storage.ts'
export { safeFileName } from './safe-file-name.ts'
export { segmentPath } from './segment-path.ts'
export { isDamaged, isDiskFull, storageFailure } from './storage-failure.ts'
