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

/** Returns all unfinished tasks that the user may read, by state. */
export async function loadUnfinishedTasks<Task>(
  client: ClusterClient,
  { type, dataSource }: TaskFilter,
): Promise<UnfinishedTasks<Task>[]> {
  return await Promise.all(
    (['running', 'pending', 'waiting'] as const).map(async (state) => {
      const query = new URLSearchParams({
        state,
        ...(type === undefined ? {} : { type }),
        ...(dataSource === undefined ? {} : { datasource: dataSource }),
      })
      return { state, tasks: (await client.send('GET', `/svc/indexer/v1/tasks?${query}`)) as Task[] }
    }),
  )
}
