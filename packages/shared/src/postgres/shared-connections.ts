import { unavailable } from '@svc/domain/failure'
import type { Database } from './database.ts'
import type { Listener } from './notices.ts'

/**
 * Returns the same store over the same connections, for work that ends before they do. After `close`, which waits for
 * statements in progress, that work can no longer change the store.
 */
export function shareConnections(database: Database): Database {
  const inProgress = new Set<Promise<unknown>>()
  const listeners = new Set<Listener>()
  let isClosed = false

  async function track<Result>(run: () => Promise<Result>): Promise<Result> {
    if (isClosed) throw unavailable('The connection to the metadata store is closed')
    const running = run()
    inProgress.add(running)
    try {
      return await running
    } finally {
      inProgress.delete(running)
    }
  }

  return {
    query: (statement) => track(() => database.query(statement)),
    transaction: (run) => track(() => database.transaction(run)),
    listen: async (channel, onNotice) => {
      const listener = await track(() => database.listen(channel, onNotice))
      listeners.add(listener)
      return {
        catchUp: listener.catchUp,
        close: async () => {
          listeners.delete(listener)
          await listener.close()
        },
      }
    },
    close: async () => {
      isClosed = true
      await Promise.allSettled(inProgress)
      await Promise.all([...listeners].map((listener) => listener.close()))
    },
  }
}
