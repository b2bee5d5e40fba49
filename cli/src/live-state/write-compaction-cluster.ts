import type { ClusterClient } from '../client/index.ts'
import { compactionClusterPath } from './paths.ts'
import { type Headers, requiredVersion } from './required-version.ts'

/**
 * Changes the given fields of the cluster-wide compaction configuration; the others keep their values. Throws conflict if a
 * cluster of svc no longer has this version of it: by default, the one that is read for the other fields.
 */
export async function writeCompactionCluster(
  client: ClusterClient,
  fields: object,
  headers: Headers,
  version?: string,
): Promise<void> {
  // Fields that are left out would get their defaults.
  const { body: present, headers: answered } = await client.request('GET', compactionClusterPath)
  await client.send(
    'POST',
    compactionClusterPath,
    { ...(present as object), ...fields },
    { ...headers, ...requiredVersion(version ?? answered.etag) },
  )
}
