import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ExplainedTask, explainTask, type TaskSurroundings } from './index.ts'

const day = 86_400_000
const interval = (from: number, to: number) => ({ start: from * day, end: to * day })

const task = (more: Partial<ExplainedTask> = {}): ExplainedTask => ({
  state: 'PENDING',
  type: 'compact',
  dataSource: 'wiki',
  priority: 25,
  attempt: 0,
  worker: null,
  startedAt: null,
  durationMs: null,
  errorMessage: null,
  ...more,
})
const free: TaskSurroundings = {
  lockedInterval: interval(0, 2),
  locks: [],
  limit: undefined,
  slots: 2,
  usedSlots: 0,
  ahead: 0,
  seesCluster: true,
}
const lock = { taskId: 'other', interval: interval(1, 3), priority: 25 }

const cases: readonly {
  readonly name: string
  readonly task: ExplainedTask
  readonly surroundings?: Partial<TaskSurroundings>
  readonly expected: readonly RegExp[]
}[] = [
  { name: 'a pending task that can start', task: task(), expected: [/^Nothing holds the task back/] },
  {
    name: 'a pending task that waits for a lock of the same priority',
    task: task(),
    surroundings: { locks: [lock] },
    expected: [
      /is waiting$/,
      /^Task \[other\] has locked \[1970-01-02T00:00:00\.000Z\/1970-01-04T00:00:00\.000Z\] with priority \[25\]; this task has priority \[25\]/,
    ],
  },
  {
    name: 'a pending task with a higher priority than the lock',
    task: task({ priority: 26 }),
    surroundings: { locks: [lock] },
    expected: [/^Nothing holds/],
  },
  {
    name: 'a pending task whose interval is not locked',
    task: task(),
    surroundings: { locks: [{ ...lock, interval: interval(2, 3) }] },
    expected: [/^Nothing holds/],
  },
  {
    name: 'a pending task that needs no lock',
    task: task(),
    surroundings: { lockedInterval: undefined, locks: [lock] },
    expected: [/^Nothing holds/],
  },
  {
    name: 'a pending task of a type with a limit',
    task: task(),
    surroundings: { limit: { maxRunning: 1, running: 1 } },
    expected: [/is waiting$/, /^1 task of type \[compact\] is running, the maximum/],
  },
  {
    name: 'a pending task without free slots, with others ahead of it',
    task: task(),
    surroundings: { usedSlots: 2, ahead: 3 },
    expected: [
      /is waiting$/,
      /^All task slots of the cluster are in use \(2\)$/,
      /^3 pending tasks .* start first$/,
    ],
  },
  {
    name: 'a pending task in a cluster without slots, for a caller who may not know about other tasks',
    task: task(),
    surroundings: { slots: 0, seesCluster: false },
    expected: [/is waiting$/, /^No server has task slots/],
  },
  {
    name: 'a pending task for a caller who may not know how many other tasks there are',
    task: task(),
    surroundings: {
      usedSlots: 7,
      slots: 7,
      limit: { maxRunning: 4, running: 5 },
      ahead: 3,
      seesCluster: false,
    },
    expected: [
      /is waiting$/,
      /^The maximum number of tasks of type \[compact\] in \[svc\.indexer\.task\.maxRunningByType\] are running$/,
      /^All task slots of the cluster are in use$/,
    ],
  },
  {
    name: 'a pending task that can start, for a caller who may not know about other tasks',
    task: task(),
    surroundings: { seesCluster: false },
    expected: [/^Nothing that you may read holds the task back; tasks of other datasources may start first$/],
  },
  {
    name: 'a running task in its second attempt',
    task: task({ state: 'RUNNING', attempt: 2, worker: 'o:1', startedAt: 0 }),
    expected: [
      /^The task is running on \[o:1\] since 1970-01-01T00:00:00\.000Z$/,
      /^This is attempt 2/,
      /^It has locked/,
    ],
  },
  {
    name: 'a failed task',
    task: task({ state: 'FAILED', attempt: 1, worker: 'o:1', durationMs: 3000, errorMessage: 'No input' }),
    expected: [/^The task failed after 3 s on \[o:1\]$/, /^No input$/],
  },
  {
    name: 'a task that was canceled while it was pending',
    task: task({ state: 'FAILED', errorMessage: 'Shut down by [admin]' }),
    expected: [/^The task failed before a worker started it$/, /^Shut down by \[admin\]$/],
  },
  {
    name: 'a successful task',
    task: task({ state: 'SUCCESS', attempt: 1, worker: 'o:1' }),
    expected: [/^The task succeeded on \[o:1\]$/],
  },
]

describe('the explanation of a task', () => {
  for (const { name, task: explained, surroundings, expected } of cases) {
    it(`covers ${name}`, () => {
      const sentences = explainTask(explained, { ...free, ...surroundings })
      assert.equal(sentences.length, expected.length, sentences.join('\n'))
      for (const [index, pattern] of expected.entries()) assert.match(sentences[index]!, pattern)
    })
  }
})
