import { countOf, formatCount } from '@svc/domain/text'
import { useState } from 'react'
import { useLocation, useParams } from 'wouter'
import { ClockBar, PresentNotice } from '../clock/index.ts'
import { maxListedTasks, type TaskStatus, useCaller, useTasks } from '../cluster/index.ts'
import { IngestHint } from '../ingest-hint/index.ts'
import { nameInAddress, taskAddress } from '../location.ts'
import { formatAge, formatSpan, Name, Problem, useLongTable, visible } from '../ui/index.ts'
import { DutyTable } from './duty-table.tsx'
import { IngestPanel } from './ingest-panel.tsx'
import { TaskPanel } from './task-panel.tsx'
import { stateOf } from './task-state.ts'

const states = ['all', 'waiting', 'pending', 'running', 'succeeded', 'failed'] as const

/** Duty runs and tasks: what ran, how long it took, and what failed. */
export function RunsScreen() {
  const { data: caller } = useCaller()
  const canIngest = caller?.anyDatasource.write === true
  const tasks = useTasks(maxListedTasks)
  const [state, setState] = useState<(typeof states)[number]>('all')
  const [selected, select] = useSelection()
  const all = tasks.data ?? []
  const shown = all.filter((task) => state === 'all' || stateOf(task) === state)
  const task = all.find(({ id }) => id === selected)
  return (
    <div className="datasource">
      <div className="picture">
        <div className="row between">
          <h1>Runs and tasks</h1>
          <ClockBar />
        </div>
        <PresentNotice what="runs and tasks" />
        {caller?.state.read && (
          <section aria-labelledby="duties-title">
            <h2 id="duties-title">Duty runs</h2>
            <DutyTable />
          </section>
        )}
        <section aria-labelledby="tasks-title" className="lead">
          <div className="row between">
            <h2 id="tasks-title">Tasks</h2>
            <label className="row">
              Show
              <select value={state} onChange={(event) => setState(event.target.value as typeof state)}>
                {states.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          </div>
          {tasks.error && <Problem>{tasks.error.message}</Problem>}
          {tasks.data && shown.length === 0 && <NoTasks isFiltered={state !== 'all'} canIngest={canIngest} />}
          {shown.length > 0 && <TaskTable tasks={shown} selected={selected} onSelect={select} />}
          {all.length === maxListedTasks && (
            <p className="hint">Only the newest {countOf(maxListedTasks, 'task')} are shown.</p>
          )}
        </section>
      </div>
      <aside aria-label="Task">
        {task ? (
          <TaskPanel key={task.id} task={task} />
        ) : (
          <p className="dim">
            {selected === undefined || !tasks.data
              ? 'Choose a task to see its log and why it failed.'
              : `This task is not one of the newest ${countOf(maxListedTasks, 'task')} that you can read.`}
          </p>
        )}
        {canIngest && <IngestPanel onTask={select} />}
      </aside>
    </div>
  )
}

/** The selected task, which is part of the address, and a function that selects another one. */
function useSelection() {
  const { task } = useParams<{ readonly task?: string }>()
  const [, navigate] = useLocation()
  const selected = task === undefined ? undefined : nameInAddress(task)
  return [selected, (id: string) => navigate(taskAddress(id), { replace: true })] as const
}

function NoTasks({ isFiltered, canIngest }: { readonly isFiltered: boolean; readonly canIngest: boolean }) {
  if (isFiltered) return <p className="dim">No task is in this state.</p>
  if (!canIngest) return <p className="dim">There are no tasks that you may read.</p>
  return (
    <>
      <p className="dim">No task has run yet. To load a file into a datasource with a task:</p>
      <IngestHint />
      <p className="dim">Or drop a file under “Ingest a file”.</p>
    </>
  )
}

// An ID takes up to two lines.
const rowHeight = 44

/** Tasks, of which only the visible ones exist. */
function TaskTable({
  tasks,
  selected,
  onSelect,
}: {
  readonly tasks: readonly TaskStatus[]
  readonly selected: string | undefined
  onSelect(id: string): void
}) {
  const { box, indexes, before, after } = useLongTable(tasks.length, rowHeight)
  return (
    <div ref={box} className="scroll framed" tabIndex={0} role="group" aria-label="List of tasks">
      <table className="list" aria-rowcount={tasks.length + 1}>
        <thead>
          <tr>
            <th>task</th>
            <th>type</th>
            <th>datasource</th>
            <th>state</th>
            <th className="right">created</th>
            <th className="right">took</th>
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr style={{ height: before }} />}
          {indexes.map((index) => (
            <tr key={tasks[index]!.id} aria-rowindex={index + 2} style={{ height: rowHeight }}>
              <TaskCells
                task={tasks[index]!}
                isSelected={selected === tasks[index]!.id}
                onSelect={onSelect}
              />
            </tr>
          ))}
          {after > 0 && <tr style={{ height: after }} />}
        </tbody>
      </table>
    </div>
  )
}

function TaskCells({
  task,
  isSelected,
  onSelect,
}: {
  readonly task: TaskStatus
  readonly isSelected: boolean
  onSelect(id: string): void
}) {
  return (
    <>
      <th scope="row" className="task-id">
        <button
          type="button"
          className="link"
          title={visible(task.id)}
          aria-current={isSelected ? 'true' : undefined}
          onClick={() => onSelect(task.id)}
        >
          <Name>{task.id}</Name>
        </button>
      </th>
      <td>{task.type}</td>
      <td>
        <Name>{task.dataSource}</Name>
      </td>
      <td className={task.status === 'FAILED' ? 'was' : ''}>{stateOf(task)}</td>
      <td className="right">{formatAge(task.ageMs)}</td>
      <td className="right">{tookText(task)}</td>
    </>
  )
}

/** How long a finished task ran. Most take less than a minute, so milliseconds matter only below a second. */
const tookText = ({ status, duration }: TaskStatus): string =>
  status === 'RUNNING' || duration < 0
    ? ''
    : duration < 1000
      ? `${formatCount(duration)} ms`
      : formatSpan(duration)
