import { type S3StandIn, standInBucket } from '../testing/index.ts'
import type { S3Connection, StoreConfig } from './index.ts'

/** Returns where a store in the stand-in is, with short timeouts. */
export function placeOf(
  { url, accessKey, secretKey }: S3StandIn,
  {
    bucket = standInBucket,
    baseKey = '',
    ...connection
  }: { bucket?: string; baseKey?: string } & Partial<S3Connection> = {},
): StoreConfig {
  return {
    type: 's3',
    bucket,
    baseKey,
    connection: {
      endpointUrl: url,
      region: 'eu-central-1',
      accessKey,
      secretKey,
      isPathStyle: true,
      caPath: undefined,
      retryTimeoutMs: 20_000,
      idleTimeoutMs: 5000,
      ...connection,
    },
  }
}
