import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { Failure } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'
import type { AnsweredQueue, AnsweredServer, ClusterAnswers } from './cluster-view.ts'

const COORDINATOR = '/svc/coordinator/v1'

/** Asks the coordinator, through the router, where the segments of a datasource are, and looks into deep storage. */
export async function observe(
  client: ClusterClient,
  dataSource: string,
  deepStorage: string,
): Promise<ClusterAnswers> {
  const ask = (path: string) => client.send('GET', `${COORDINATOR}${path}`)
  const [servers, queues, loadStatus] = (await Promise.all([
    ask('/servers?full'),
    ask('/loadqueue?simple'),
    ask('/loadstatus'),
  ])) as [AnsweredServer[], Record<string, AnsweredQueue>, Record<string, number>]
  const historicals = servers.filter(({ type }) => type === 'historical')
  const segments = await Promise.all(
    historicals.map(async ({ host }) => {
      const ids = (await ask(`/servers/${encodeURIComponent(host)}/segments`).catch(whenGone)) as string[]
      return [host, ids] as const
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

/** A server that went away since it was listed has nothing. */
function whenGone(error: unknown): string[] {
  if (error instanceof Failure && error.code === 'notFound') return []
  throw error
}

/** The files below a folder, which need not be there. */
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
