import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { type Database, sql } from '@svc/shared/postgres'
import type { TestCluster } from './test-cluster.ts'

/** A segment in the metadata store. */
export interface StoredSegment {
  readonly id: string
  readonly used: boolean
  readonly sizeBytes: number
  readonly totalRows: number
  /** Its file, relative to the root of deep storage. */
  readonly path: string
  readonly checksum: string
}

/** Returns all segments of a datasource, by id. */
export async function storedSegments(store: Database, dataSource: string): Promise<StoredSegment[]> {
  return await store.query<StoredSegment>(sql`
    SELECT id, used, size_bytes AS "sizeBytes", total_rows AS "totalRows",
      payload -> 'loadSpec' ->> 'path' AS path, payload -> 'loadSpec' ->> 'checksum' AS checksum
    FROM segments WHERE datasource = ${dataSource} ORDER BY id`)
}

/** A segment in the cache of a server. */
export interface CachedSegment {
  readonly id: string
  /** The Parquet file. */
  readonly file: string
  readonly sizeBytes: number
}

/** Returns the complete segments in the cache folder of an instance, by id. */
export function cachedSegments({ home }: TestCluster, instance: string): CachedSegment[] {
  const folder = path.join(home.cache, instance, 'segments')
  return readdirSync(folder)
    .map((name) => {
      const file = path.join(folder, name, 'segment.parquet')
      const { payload } = JSON.parse(readFileSync(path.join(folder, name, 'descriptor.json'), 'utf8'))
      return { id: payload.identifier as string, file, sizeBytes: statSync(file).size }
    })
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Returns the files of a folder with their sizes in bytes, by path relative to it. */
export function filesIn(folder: string): Record<string, number> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = names
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
  return Object.fromEntries(files.sort().map((file) => [path.relative(folder, file), statSync(file).size]))
}

/** Returns the checksum of a file, in the format of segments. */
export function checksumOf(file: string): string {
  return `sha256:${createHash('sha256').update(readFileSync(file)).digest('hex')}`
}

/** Returns the ids of the segments that a data server claims to serve. */
export async function servedBy(cluster: Pick<TestCluster, 'at'>, instance: string): Promise<string[]> {
  const { requests } = await cluster
    .at(instance)
    .get<{ requests: { id: string }[] }>('/svc-internal/v1/segments?counter=-1&hash=&timeout=0')
  return requests.map(({ id }) => id).sort()
}

/** Returns the ids of the segments that an instance serves according to the coordinator leader. */
export async function servedByInventory(
  cluster: Pick<TestCluster, 'router' | 'nameOf'>,
  instance: string,
): Promise<string[]> {
  const ids = await cluster.router.get<string[]>(
    `/svc/coordinator/v1/servers/${encodeURIComponent(cluster.nameOf(instance))}/segments`,
  )
  return ids.sort()
}
