import { mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { forbidden } from '@svc/domain/failure'
import * as z from 'zod'
import type { Settings } from '../config/index.ts'
import { internal, jsonAnswer, type Route, route } from '../http/index.ts'
import { createDatabase, waitForReset } from '../postgres/index.ts'

/** The path of the request that makes a server take part in a reset of the cluster. */
export const resetPath = '/svc-internal/v1/reset'

/** Throws forbidden unless tests may replace the state of the cluster. */
export function assertTestable(settings: Settings): void {
  if (settings.get('svc.testing.enabled')) return
  throw forbidden(
    'Resets and snapshots are for tests only: set [svc.testing.enabled] to [true] on every server, but never on a cluster with valuable data',
  )
}

/** Returns the endpoint that replaces what this server knows about the cluster. It responds when the server works again. */
export const resetRoute = (settings: Settings, reset: () => Promise<void>): Route =>
  route({
    method: 'POST',
    path: resetPath,
    access: internal,
    summary:
      'Take part in a cluster reset: discard the state of this server, and start over once the state of the cluster has been replaced',
    answers: [jsonAnswer(z.object({}))],
    handle: async () => {
      assertTestable(settings)
      await reset()
      return {}
    },
  })

/** Deletes the caches of a server whose work has stopped, and waits until the state of the cluster is replaced. */
export async function waitWithoutCaches(settings: Settings): Promise<void> {
  const database = createDatabase(settings, { connections: 1, applicationName: settings.get('svc.service') })
  try {
    await Promise.all(cacheFolders(settings).map((folder) => emptyFolder(folder)))
    await waitForReset(database)
  } finally {
    await database.close()
  }
}

/** The folders of a server whose files it can do without. */
function cacheFolders(settings: Settings): string[] {
  const { role } = settings
  return [
    ...settings.get('svc.segmentCache.locations').map((location) => location.path),
    ...(role === 'broker' ? [settings.get('svc.query.directory')] : []),
    ...(role === 'overlord' || role === 'worker' ? [settings.get('svc.indexer.task.baseTaskDir')] : []),
  ]
}

/** Deletes what is in a folder, except what `isKept`; creates a missing folder. */
export async function emptyFolder(
  folder: string,
  isKept: (name: string) => boolean = () => false,
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const names = (await readdir(folder)).filter((name) => !isKept(name))
  await Promise.all(names.map((name) => rm(path.join(folder, name), { recursive: true, force: true })))
}
