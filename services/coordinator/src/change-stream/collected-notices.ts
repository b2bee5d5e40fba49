import type { Database, Listener } from '@svc/shared/postgres'

/** Collects what servers notify of on a channel of the metadata store. */
export interface CollectedNotices {
  /** Resolves once all notices so far can be taken. Starts to listen. */
  ready(): Promise<void>
  /** Returns the payloads of the notices since the last call, each of them once. */
  take(): readonly string[]
  /** Stops listening, until the next `ready`. */
  stop(): Promise<void>
}

/**
 * Creates a collector. It costs nothing until it listens. After a lost connection, it assumes all payloads of `loadPossible`, because
 * their notices may have been missed.
 */
export function collectNotices(
  database: Pick<Database, 'listen'>,
  channel: string,
  loadPossible: () => Promise<readonly string[]>,
): CollectedNotices {
  const collected = new Set<string>()
  let listening: Promise<Listener> | undefined
  let hasMissed = false

  const note = (payload: string | undefined): void => {
    if (payload === undefined) hasMissed = true
    else collected.add(payload)
  }

  function listen(): Promise<Listener> {
    const started = database.listen(channel, note)
    started.catch(() => {
      if (listening === started) listening = undefined
    })
    return started
  }

  return {
    ready: async () => {
      listening ??= listen()
      await listening
      if (!hasMissed) return
      hasMissed = false
      try {
        for (const payload of await loadPossible()) collected.add(payload)
      } catch (error) {
        hasMissed = true
        throw error
      }
    },
    take: () => {
      const payloads = [...collected]
      collected.clear()
      return payloads
    },
    stop: async () => {
      const stopping = listening
      listening = undefined
      collected.clear()
      hasMissed = false
      const listener = await stopping?.catch(() => undefined)
      await listener?.close()
    },
  }
}
