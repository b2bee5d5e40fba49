import { setTimeout as delay } from 'node:timers/promises'
import { type Database, notifyOfTopic } from '../postgres/index.ts'

const periodMs = 1000

/** Returns a function that notifies the followers of the cluster of refused requests and handshakes: soon, but only once per second. */
export function createRefusalNotices(database: Database): () => void {
  let isPending = false
  return () => {
    if (isPending) return
    isPending = true
    void delay(periodMs, undefined, { ref: false }).then(() => {
      isPending = false
      // Without the store, there are no followers.
      return notifyOfTopic(database, 'refusals').catch(() => undefined)
    })
  }
}
