import { mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { forbidden } from '@svc/domain/failure'
import { z } from 'zod'
import type { Settings } from '../config/index.ts'
import { internal, jsonAnswer, type Route, route } from '../http/index.ts'
import { createDatabase, waitForReset } from '../postgres/index.ts'

/** The path at which a server is requested to restart within its process. */
export const restartPath = '/svc-internal/v1/restart'

/** Throws forbidden unless tests may replace the state of the cluster. */
export function assertTestable(settings: Settings): void {
  if (settings.get('svc.testing.enabled')) return
  throw forbidden(
    'Resets and snapshots are for tests only: set [svc.testing.enabled] to [true] on every server, but never on a cluster with valuable data',
  )
}

/** Returns the endpoint that restarts this server for a reset of the cluster. */
export const restartRoute = (settings: Settings, restart: () => void): Route =>
  route({
    method: 'POST',
    path: restartPath,
    access: internal,
    summary: 'Restart this server within its process, with empty caches, after a reset of the cluster',
    answers: [jsonAnswer(z.object({}))],
    handle: () => {
      assertTestable(settings)
      // The answer is sent first.
      setImmediate(restart)
      return {}
    },
  })

/** Deletes the caches of a server that has stopped, and waits for the end of a reset. */
export async function restartEmpty(settings: Settings): Promise<void> {
  await Promise.all(cacheFolders(settings).map((folder) => emptyFolder(folder)))
  const database = createDatabase(settings, { connections: 1, applicationName: settings.get('svc.service') })
  await waitForReset(database).finally(database.close)
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
