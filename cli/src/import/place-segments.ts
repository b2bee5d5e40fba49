import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { dataSourceOfId } from '@svc/domain/segment'
import { type Database, loadUsedSegmentSizes } from '@svc/shared/postgres'
import type { ServedSegments } from '../snapshot/index.ts'

/** Which replicas of the source a home has. */
export interface Placement {
  readonly replicas: number
  /** Bytes of the replicas of each server. */
  readonly bytesOfServer: ReadonlyMap<string, number>
  /** Number of replicas of segments that the source did not list, by datasource. */
  readonly unlisted: ReadonlyMap<string, number>
  readonly serversWithUnlisted: ReadonlySet<string>
}

/** Writes the file with the segments of each virtual server. Segments that are not used in the home are left out. */
export async function placeSegments(
  database: Database,
  rows: AsyncIterable<ServedSegments>,
  file: string,
  signal: AbortSignal,
): Promise<Placement> {
  let replicas = 0
  const bytesOfServer = new Map<string, number>()
  const unlisted = new Map<string, number>()
  const serversWithUnlisted = new Set<string>()
  async function* lines(): AsyncGenerator<string> {
    for await (const { server, segments } of rows) {
      const sizes = await loadUsedSegmentSizes(database, segments)
      const placed: [string, number][] = []
      for (const id of segments) {
        const sizeBytes = sizes.get(id)
        if (sizeBytes === undefined) {
          serversWithUnlisted.add(server)
          const dataSource = dataSourceOfId(id)
          unlisted.set(dataSource, (unlisted.get(dataSource) ?? 0) + 1)
        } else {
          placed.push([id, sizeBytes])
          bytesOfServer.set(server, (bytesOfServer.get(server) ?? 0) + sizeBytes)
        }
      }
      replicas += placed.length
      yield `${JSON.stringify({ server, segments: placed })}\n`
    }
  }
  await pipeline(lines(), createWriteStream(file, { mode: 0o600 }), { signal })
  return { replicas, bytesOfServer, unlisted, serversWithUnlisted }
}
