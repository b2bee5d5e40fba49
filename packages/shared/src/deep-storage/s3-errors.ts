import { Failure, unavailable } from '@svc/domain/failure'
import { diskFullReason, storageFailure } from './storage-failure.ts'

/** The parts of an error of the S3 client that say what happened. */
interface S3Error {
  readonly name?: string
  readonly code?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

const describedBy = (error: unknown): S3Error => (typeof error === 'object' && error !== null ? error : {})

const statusOf = (error: unknown): number | undefined => describedBy(error).$metadata?.httpStatusCode

const fullNames = new Set(['XMinioStorageFull', 'QuotaExceeded', 'StorageFull', 'InsufficientStorage'])
const fullStatus = 507
// An invalid certificate stays invalid.
const certificateCode = /CERT|^ERR_TLS|^UNABLE_TO/
const temporaryStatuses = new Set([408, 429, 500, 502, 503, 504])

const isFull = (error: unknown): boolean =>
  statusOf(error) === fullStatus || fullNames.has(describedBy(error).name ?? '')

/** Whether an object does not exist in a bucket that does. */
export const isMissingObject = (error: unknown): boolean =>
  statusOf(error) === 404 && describedBy(error).name !== 'NoSuchBucket'

/** Whether the requested bytes are past the end of the object. */
export const isBehindEnd = (error: unknown): boolean => statusOf(error) === 416

/**
 * Whether the same request may succeed later: the store did not respond, sent too slowly, or reported a problem of its
 * own.
 */
export function isTemporary(error: unknown): boolean {
  // A local file, for example, could not be read.
  if (error instanceof Failure || isFull(error)) return false
  const status = statusOf(error)
  if (status !== undefined) return temporaryStatuses.has(status)
  const { name, code } = describedBy(error)
  return name === 'TimeoutError' || (typeof code === 'string' && !certificateCode.test(code))
}

/**
 * Returns the Failure for a request that S3 did not execute. `what` starts the sentence ("Failed to read deep storage
 * […]"). isDiskFull recognizes the Failure for a full store.
 */
export function s3Failure(what: string, file: string, error: unknown): Failure {
  const status = statusOf(error)
  if (isFull(error))
    return unavailable(`${what}: the S3 service has no space left`, { reason: diskFullReason, file }, error)
  if (status === undefined) return storageFailure(what, file, error)
  const { name = 'unknown error' } = describedBy(error)
  return unavailable(`${what}: ${name} (HTTP ${status})`, { file }, error)
}
