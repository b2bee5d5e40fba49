import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { type TaskStatus, useCaller } from '../cluster/index.ts'
import { fetchJson, send } from '../session/index.ts'
import { ConfirmedButton, formatMinute, Name, Notice, Problem, useWork } from '../ui/index.ts'
import { TaskLog } from './task-log.tsx'
import { addressOf, hasStarted, stateOf } from './task-state.ts'

const logBytes = 30_000

/** One task: its state, why it failed, its log, and its spec. */
export function TaskPanel({ task }: { readonly task: TaskStatus }) {
  const path = `/svc/indexer/v1/task/${encodeURIComponent(task.id)}`
  const isUnfinished = task.status === 'RUNNING'
  const log = useQuery({
    // Fetched once more when the task ends: its last lines, or all of them if there was no log before.
    queryKey: ['taskLog', task.id, task.status],
    queryFn: async () => await (await send(`${path}/log?offset=-${logBytes}`)).text(),
    enabled: hasStarted(task),
    placeholderData: keepPreviousData,
    retry: false,
    refetchInterval: isUnfinished ? 2000 : false,
  })
  const spec = useQuery({
    queryKey: ['taskSpec', task.id],
    queryFn: () => fetchJson<object>(path),
    retry: false,
  })
  return (
    <section className="review" aria-labelledby="task-title">
      <h2 id="task-title">
        <Name>{task.id}</Name>
      </h2>
      <p className="numbers">
        {task.type} task for <Name>{task.dataSource}</Name>, {stateOf(task)}, created{' '}
        {formatMinute(Date.parse(task.createdTime))}
        {task.location.host !== null && ` on ${addressOf(task.location)}`}
      </p>
      <WhyTask task={task} />
      {isUnfinished && <Shutdown path={path} dataSource={task.dataSource} />}
      <h3>Log</h3>
      {!hasStarted(task) && (
        <p className="dim">
          {isUnfinished ? 'There is no log until a worker starts the task.' : 'No worker started the task.'}
        </p>
      )}
      {log.error && <p className="dim">{log.error.message}</p>}
      {log.data !== undefined && <TaskLog text={log.data} />}
      <details>
        <summary>Spec</summary>
        {spec.error && <p className="problem">{spec.error.message}</p>}
        {spec.data && (
          <pre className="log" tabIndex={0}>
            {JSON.stringify(spec.data, null, 2)}
          </pre>
        )}
      </details>
    </section>
  )
}

/** Why a task is pending, what it is doing, or why it failed. */
function WhyTask({ task }: { readonly task: TaskStatus }) {
  const { data } = useQuery({
    queryKey: ['explainTask', task.id, stateOf(task)],
    queryFn: () =>
      fetchJson<{ readonly sentences: readonly string[] }>(
        `/svc/indexer/v1/task/${encodeURIComponent(task.id)}/explain`,
      ),
    retry: false,
  })
  // Until there is an explanation, the status says why a task failed.
  const sentences = data?.sentences ?? (task.errorMsg === null ? [] : [task.errorMsg])
  if (sentences.length === 0) return null
  const list = (
    <ul aria-label="Why">
      {sentences.map((text) => (
        <li key={text}>
          <bdi>{/[.!?]$/.test(text) ? text : `${text}.`}</bdi>
        </li>
      ))}
    </ul>
  )
  if (stateOf(task) === 'running') return list
  return <Notice kind={task.status === 'SUCCESS' ? 'done' : 'warning'}>{list}</Notice>
}

/** Shuts a task down, which cannot be undone, after a confirmation. */
function Shutdown({ path, dataSource }: { readonly path: string; readonly dataSource: string }) {
  const { data: caller } = useCaller(dataSource)
  const queries = useQueryClient()
  const { problem, isBusy, run } = useWork()
  if (caller?.datasource?.write !== true) return null
  const shutDown = () =>
    run(async () => {
      await send(`${path}/shutdown`, { method: 'POST' })
      await queries.invalidateQueries({ queryKey: ['tasks'] })
    })
  return (
    <>
      <ConfirmedButton
        label="Shut down…"
        question="Shut down this task? Its work will be lost."
        confirm="Shut down"
        isBusy={isBusy}
        onConfirm={() => void shutDown()}
      />
      {problem && <Problem>{problem}</Problem>}
    </>
  )
}
