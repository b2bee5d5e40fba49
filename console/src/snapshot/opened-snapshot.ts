import { useSyncExternalStore } from 'react'
import { answerLocally, openSession } from '../session/index.ts'
import { callWorker, type OpenedSnapshot, type SnapshotPlace } from '../web-worker/index.ts'

let opened: OpenedSnapshot | undefined
const listeners = new Set<() => void>()

function setOpened(next: OpenedSnapshot | undefined): void {
  opened = next
  for (const listener of listeners) listener()
}

/** Returns the snapshot that the page shows; undefined if it shows a cluster, or nothing yet. */
export const useOpenedSnapshot = (): OpenedSnapshot | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => opened,
  )

/** Opens a snapshot, and answers all requests of the page from it. Throws if it is incomplete or unreadable. */
export async function openSnapshot(place: SnapshotPlace): Promise<void> {
  const next = await callWorker('openSnapshot', place)
  answerLocally(async (method, path) => {
    const { status, body } = await callWorker('request', { method, path })
    return new Response(body, { status })
  })
  openSession('')
  setOpened(next)
}

/** Closes the snapshot, so that the user can choose another one. */
export const closeSnapshot = (): void => setOpened(undefined)
