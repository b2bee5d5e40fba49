import { type Database, type Listener, loadDataSourcesOfTasks, tasksChannel } from '@svc/shared/postgres'

/** Collects the datasources of tasks that are created, start, start to wait, or end. */
export interface TaskChanges {
  /** Resolves once all changes so far can be taken. Starts to listen. */
  ready(): Promise<void>
  /** Returns the datasources whose tasks changed since the last call. */
  take(): readonly string[]
  /** Stops listening, until the next `ready`. */
  stop(): Promise<void>
}

/** Creates a collector. It costs nothing until it listens. */
export function createTaskChanges(database: Database): TaskChanges {
  const changed = new Set<string>()
  let listening: Promise<Listener> | undefined
  let hasMissed = false

  const note = (dataSource: string | undefined): void => {
    if (dataSource === undefined) hasMissed = true
    else changed.add(dataSource)
  }

  function listen(): Promise<Listener> {
    const started = database.listen(tasksChannel, note)
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
        for (const dataSource of await loadDataSourcesOfTasks(database)) changed.add(dataSource)
      } catch (error) {
        hasMissed = true
        throw error
      }
    },
    take: () => {
      const names = [...changed]
      changed.clear()
      return names
    },
    stop: async () => {
      const stopping = listening
      listening = undefined
      changed.clear()
      hasMissed = false
      const listener = await stopping?.catch(() => undefined)
      await listener?.close()
    },
  }
}
