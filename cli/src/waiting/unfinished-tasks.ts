import type { ClusterClient } from '../client/index.ts'

/** The tasks of one state that a list of tasks returned. */
export interface UnfinishedTasks<Task> {
  readonly state: 'running' | 'pending' | 'waiting'
  readonly tasks: readonly Task[]
}

/** Which tasks to return; all fields are optional. */
export interface TaskFilter {
  readonly type?: string | undefined
  readonly dataSource?: string | undefined
}

// Without a maximum, a list ends after the newest 1,000 tasks.
const maxTasks = 999_999_999

/** Returns all unfinished tasks that the user may read, by state. */
export async function loadUnfinishedTasks<Task>(
  client: ClusterClient,
  { type, dataSource }: TaskFilter,
): Promise<UnfinishedTasks<Task>[]> {
  const query = new URLSearchParams({
    max: String(maxTasks),
    ...(type === undefined ? {} : { type }),
    ...(dataSource === undefined ? {} : { datasource: dataSource }),
  })
  return await Promise.all(
    (['running', 'pending', 'waiting'] as const).map(async (state) => {
      const path = `/svc/indexer/v1/tasks?state=${state}&${query}`
      return { state, tasks: (await client.send('GET', path)) as Task[] }
    }),
  )
}
