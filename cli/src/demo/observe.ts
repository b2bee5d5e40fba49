import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { Failure } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'
import type { AnsweredQueue, AnsweredSegment, AnsweredServer, ClusterAnswers } from './cluster-view.ts'

const coordinatorPath = '/svc/coordinator/v1'

/** Queries the coordinator for the locations of a datasource's segments, and counts its files in deep storage. */
export async function observe(
  client: ClusterClient,
  dataSource: string,
  deepStorage: string,
): Promise<ClusterAnswers> {
  const get = (path: string) => client.send('GET', `${coordinatorPath}${path}`)
  const [servers, queues, loadStatus] = (await Promise.all([
    get('/servers?simple'),
    get('/loadqueue?simple'),
    get('/loadstatus'),
  ])) as [AnsweredServer[], Record<string, AnsweredQueue>, Record<string, number>]
  const historicals = servers.filter(({ type }) => type === 'historical')
  const segments = await Promise.all(
    historicals.map(async ({ host }) => {
      const path = `/servers/${encodeURIComponent(host)}/segments?full`
      return [host, (await get(path).catch(whenGone)) as AnsweredSegment[]] as const
    }),
  )
  return {
    servers,
    segments: new Map(segments),
    queues,
    loadedPercent: loadStatus[dataSource],
    deepStorage: filesOf(path.join(deepStorage, dataSource)),
  }
}

/** A server that has left the cluster since it was listed has no segments. */
function whenGone(error: unknown): AnsweredSegment[] {
  if (error instanceof Failure && error.code === 'notFound') return []
  throw error
}

/** The files in a folder and its subfolders; none if it does not exist. */
function filesOf(folder: string): { files: number; sizeBytes: number } {
  let files = 0
  let sizeBytes = 0
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      files += 1
      sizeBytes += statSync(path.join(entry.parentPath, entry.name)).size
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return { files, sizeBytes }
}
