import type { Interval } from '@svc/domain/time'
import { formatJsonText } from '../wire/index.ts'
import { compactTaskColumns } from './compaction-tasks.ts'
import { type Database, type Queries, sql, type Transaction } from './database.ts'
import { lockDatasource } from './segments.ts'
import { readTime, storedTime } from './stored-time.ts'

/** The notification channel for tasks that are created, start, start to wait, or end. The payload is the datasource. */
export const tasksChannel = 'svc_tasks'

/** The state of a task; SUCCESS and FAILED are final. */
export type TaskState = 'PENDING' | 'RUNNING' | 'SUCCESS' | 'FAILED'

/** A submitted task. */
export interface NewTask {
  readonly id: string
  readonly groupId: string
  readonly type: string
  readonly dataSource: string
  readonly priority: number
  readonly payload: unknown
  readonly submittedBy: string
}

/** A task without its payload; times in epoch milliseconds. */
export interface StoredTask {
  /** Unique in the store. */
  readonly id: string
  /** The ID that users see. Tasks of different datasources can have the same one. */
  readonly shownId: string
  readonly groupId: string
  readonly type: string
  readonly dataSource: string
  readonly priority: number
  readonly createdAt: number
  readonly submittedBy: string
  readonly state: TaskState
  readonly attempt: number
  readonly worker: string | null
  readonly workerHost: string | null
  readonly workerPort: number | null
  readonly workerTlsPort: number | null
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly durationMs: number | null
  readonly progress: unknown
  readonly errorMessage: string | null
  /** Whether a pending task waits for a lock or a limit. */
  readonly waiting: boolean
}

// Neither IDs chosen by users nor datasource names contain control characters.
const scopeSeparator = '\u0001'

/**
 * Returns the ID under which a task with a user-chosen ID is stored. User-chosen IDs are unique only within a
 * datasource: rejecting an ID because of another datasource would reveal its tasks to users who may not read them.
 */
export const scopedTaskId = (id: string, dataSource: string): string => `${id}${scopeSeparator}${dataSource}`

/** Returns the ID of a stored task that users see. */
export const shownTaskId = (id: string): string => id.split(scopeSeparator, 1)[0] as string

/** Condition for tasks that users see under an ID. The range finds IDs that are scoped by a datasource. */
const isShownAs = (id: ReturnType<typeof sql>) =>
  sql`(tasks.id = ${id} OR (tasks.id > ${id} || chr(1) AND tasks.id < ${id} || chr(2)))`

const taskColumns = sql`id, split_part(id, chr(1), 1) AS "shownId", group_id AS "groupId", type, datasource AS "dataSource", priority, created_at AS "createdAt",
  submitted_by AS "submittedBy", state, attempt, worker, worker_host AS "workerHost", worker_port AS "workerPort",
  worker_tls_port AS "workerTlsPort", started_at AS "startedAt", finished_at AS "finishedAt",
  duration_ms AS "durationMs", progress, error_message AS "errorMessage", waiting`

/** Stores a task. Returns false if a task with this ID exists. */
export async function saveTask(queries: Queries, task: NewTask): Promise<boolean> {
  const { id, groupId, type, dataSource, priority, payload, submittedBy } = task
  const text = await formatJsonText(payload)
  const { interval, origin } = compactTaskColumns(type, payload)
  const rows = await queries.query(sql`
    INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state,
      compaction_interval, compaction_origin)
    VALUES (${id}, ${groupId}, ${type}, ${dataSource}, ${priority}, ${text}, now(), ${submittedBy},
      'PENDING', ${interval}, ${origin})
    ON CONFLICT DO NOTHING RETURNING id`)
  return rows.length === 1
}

/** Returns the number of running tasks. */
export async function countRunningTasks(queries: Queries): Promise<number> {
  const [found] = await queries.query<{ count: number }>(
    sql`SELECT count(*) AS count FROM tasks WHERE state = 'RUNNING'`,
  )
  return found?.count ?? 0
}

/** Returns the number of pending tasks that start before a pending task if nothing else holds them back. */
export async function countTasksAhead(
  queries: Queries,
  { id, priority, createdAt }: Pick<StoredTask, 'id' | 'priority' | 'createdAt'>,
): Promise<number> {
  const [found] = await queries.query<{ count: number }>(sql`
    SELECT count(*)::int AS count FROM tasks WHERE state = 'PENDING' AND NOT waiting AND id <> ${id}
      AND (priority > ${priority} OR (priority = ${priority}
        AND created_at < to_timestamp(${createdAt}::float8 / 1000)))`)
  return found?.count ?? 0
}

/** Returns the number of other running tasks of a type that count against its limit: those whose claim has not expired. */
export async function countRunningOfType(queries: Queries, type: string, id: string): Promise<number> {
  const [found] = await queries.query<{ count: number }>(sql`
    SELECT count(*)::int AS count FROM tasks
    WHERE state = 'RUNNING' AND type = ${type} AND id <> ${id} AND claimed_until > clock_timestamp()`)
  return found?.count ?? 0
}

/** Returns the number of unfinished tasks of a type by datasource. */
export async function countUnfinishedTasks(queries: Queries, type: string): Promise<Map<string, number>> {
  const rows = await queries.query<{ dataSource: string; count: number }>(sql`
    SELECT datasource AS "dataSource", count(*) AS count FROM tasks
    WHERE state IN ('PENDING', 'RUNNING') AND type = ${type} GROUP BY datasource`)
  return new Map(rows.map(({ dataSource, count }) => [dataSource, count]))
}

/** Returns a task; undefined if it does not exist. */
export async function loadTask(queries: Queries, id: string): Promise<StoredTask | undefined> {
  const [task] = await queries.query<StoredTask>(sql`SELECT ${taskColumns} FROM tasks WHERE id = ${id}`)
  return task
}

/** Returns the tasks that users see under an ID, newest first: for user-chosen IDs, at most one per datasource. */
export async function loadTasksShownAs(queries: Queries, id: string): Promise<StoredTask[]> {
  return await queries.query<StoredTask>(sql`
    SELECT ${taskColumns} FROM tasks WHERE ${isShownAs(sql`${id}::text`)} ORDER BY created_at DESC, id`)
}

/** Returns the tasks that users see under any of these IDs, newest first. */
export async function loadTasksShownAsAny(queries: Queries, ids: readonly string[]): Promise<StoredTask[]> {
  return await queries.query<StoredTask>(sql`
    SELECT ${taskColumns} FROM (SELECT DISTINCT unnest(${ids}::text[]) AS wanted) AS wanted_ids
    JOIN tasks ON ${isShownAs(sql`wanted COLLATE "C"`)} ORDER BY created_at DESC, id`)
}

/** Returns the payload of a task; undefined if it does not exist. */
export async function loadTaskPayload(queries: Queries, id: string): Promise<unknown> {
  const [task] = await queries.query<{ payload: unknown }>(sql`SELECT payload FROM tasks WHERE id = ${id}`)
  return task?.payload
}

/** Which tasks to list, newest first. */
export interface TaskQuery {
  readonly states?: readonly TaskState[] | undefined
  readonly dataSources?: readonly string[] | undefined
  readonly type?: string | undefined
  readonly waiting?: boolean | undefined
  /** Maximum number of tasks; undefined for all. */
  readonly limit?: number | undefined
  /** Maximum age of finished tasks, from their creation; undefined for any age. */
  readonly maxFinishedAgeMs?: number | undefined
}

/** Returns columns of tasks, newest first. */
async function selectTasks<Task>(
  queries: Queries,
  columns: ReturnType<typeof sql>,
  query: TaskQuery,
): Promise<Task[]> {
  const { states, dataSources, type, waiting, limit, maxFinishedAgeMs } = query
  return await queries.query<Task>(sql`
    SELECT ${columns} FROM tasks
    WHERE (${states ?? null}::text[] IS NULL OR state = ANY(${states ?? null}::text[]))
      AND (${dataSources ?? null}::text[] IS NULL OR datasource = ANY(${dataSources ?? null}::text[]))
      AND (${type ?? null}::text IS NULL OR type = ${type ?? null})
      AND (${waiting ?? null}::boolean IS NULL OR waiting = ${waiting ?? null})
      AND (${maxFinishedAgeMs ?? null}::float8 IS NULL OR state IN ('PENDING', 'RUNNING')
        OR created_at >= now() - ${maxFinishedAgeMs ?? null}::float8 * interval '1 millisecond')
    ORDER BY created_at DESC, id LIMIT ${limit ?? null}`)
}

/** Returns tasks, newest first. */
export const loadTasks = (queries: Queries, query: TaskQuery): Promise<StoredTask[]> =>
  selectTasks(queries, taskColumns, query)

/** Returns the datasources of all tasks. */
export async function loadDataSourcesOfTasks(queries: Queries): Promise<string[]> {
  const rows = await queries.query<{ name: string }>(sql`SELECT DISTINCT datasource AS name FROM tasks`)
  return rows.map(({ name }) => name)
}

/** Returns a check whether datasources may be read; it must only be used for the given names. */
export type ReadableNames = (names: Iterable<string>) => Promise<(name: string) => boolean>

// Tasks per page. A page must take only a few milliseconds, because other requests wait for it.
const tasksOfPage = 500

/**
 * Yields the newest tasks of datasources that the caller may read, page by page; other tasks do not count toward the
 * limit.
 */
export async function* pagesOfNewestTasks(
  queries: Queries,
  query: TaskQuery,
  readable: ReadableNames,
): AsyncGenerator<StoredTask[]> {
  const select = (given: TaskQuery) =>
    selectTasks<{ readonly id: string; readonly dataSource: string }>(
      queries,
      sql`id, datasource AS "dataSource"`,
      given,
    )
  let found = await select(query)
  const mayRead = await readable(new Set(found.map(({ dataSource }) => dataSource)))
  if (!found.every(({ dataSource }) => mayRead(dataSource))) {
    const names = query.dataSources ?? (await loadDataSourcesOfTasks(queries))
    found = await select({ ...query, dataSources: names.filter(await readable(names)) })
  }
  for (let from = 0; from < found.length; from += tasksOfPage) {
    const ids = found.slice(from, from + tasksOfPage).map(({ id }) => id)
    yield await queries.query<StoredTask>(sql`
      SELECT ${taskColumns} FROM tasks WHERE id = ANY(${ids}::text[]) ORDER BY created_at DESC, id`)
  }
}

/** Yields all tasks of datasources that the caller may read, in ID order, page by page. */
export async function* pagesOfReadableTasks(
  queries: Queries,
  readable: ReadableNames,
): AsyncGenerator<StoredTask[]> {
  let after = ''
  for (;;) {
    const page = await queries.query<StoredTask>(sql`
      SELECT ${taskColumns} FROM tasks WHERE id > ${after} ORDER BY id LIMIT ${tasksOfPage}`)
    const last = page.at(-1)
    if (last === undefined) return
    const mayRead = await readable(new Set(page.map(({ dataSource }) => dataSource)))
    yield page.filter(({ dataSource }) => mayRead(dataSource))
    after = last.id
  }
}

/** Returns the number of unfinished tasks by type and state. */
export async function countTasks(
  queries: Queries,
): Promise<{ readonly type: string; readonly state: TaskState; readonly count: number }[]> {
  return await queries.query(sql`
    SELECT type, state, count(*)::int AS count FROM tasks WHERE state IN ('PENDING', 'RUNNING')
    GROUP BY type, state`)
}

const isUnclaimed = sql`(state = 'PENDING' OR (state = 'RUNNING' AND claimed_until < clock_timestamp()))`

/** Returns the first tasks without a worker: never claimed, or claimed by a worker that stopped renewing its claim. */
export async function loadUnclaimedTasks(queries: Queries, limit: number): Promise<StoredTask[]> {
  return await queries.query<StoredTask>(sql`
    SELECT ${taskColumns} FROM tasks WHERE ${isUnclaimed} ORDER BY priority DESC, created_at LIMIT ${limit}`)
}

/** Returns tasks without a worker, in ID order, starting after `id`. */
export async function loadUnclaimedTasksAfter(
  queries: Queries,
  id: string,
  limit: number,
): Promise<StoredTask[]> {
  return await queries.query<StoredTask>(sql`
    SELECT ${taskColumns} FROM tasks WHERE ${isUnclaimed} AND id > ${id} ORDER BY id LIMIT ${limit}`)
}

/** The server that runs a task. */
export interface TaskWorker {
  readonly name: string
  readonly host: string
  readonly port: number | null
  readonly tlsPort: number | null
}

/** Claims a task for a worker. Returns the attempt number, or undefined if the task cannot be claimed. */
export async function claimTask(
  queries: Queries,
  id: string,
  worker: TaskWorker,
  claimMs: number,
): Promise<number | undefined> {
  const [task] = await queries.query<{ attempt: number }>(sql`
    UPDATE tasks
    SET state = 'RUNNING', waiting = false, attempt = attempt + 1, worker = ${worker.name}, worker_host = ${worker.host},
        worker_port = ${worker.port}, worker_tls_port = ${worker.tlsPort}, started_at = clock_timestamp(),
        claimed_until = clock_timestamp() + ${claimMs}::float8 * interval '1 millisecond'
    WHERE id = ${id} AND (state = 'PENDING' OR (state = 'RUNNING' AND claimed_until < clock_timestamp()))
    RETURNING attempt`)
  return task?.attempt
}

/** What a task needs in addition to a free slot. */
export interface TaskNeeds {
  /** An interval of its datasource that no other task may write at the same time. */
  readonly lock:
    | { readonly dataSource: string; readonly interval: Interval; readonly priority: number }
    | undefined
  /** The max number of running tasks of its type. */
  readonly limit: { readonly type: string; readonly maxRunning: number } | undefined
}

/** The result of trying to claim a task. */
export type TaskClaim =
  | { readonly kind: 'claimed'; readonly attempt: number; readonly preempted: readonly string[] }
  /** A lock or a limit blocks the task; try again later. */
  | { readonly kind: 'waiting' }
  /** Another worker has claimed the task, or it has ended. */
  | { readonly kind: 'gone' }

/**
 * Claims a task like claimTask, together with what it needs, all or nothing. Tasks of a lower priority lose their lock
 * on the interval and fail; the task waits for those of the same or a higher priority.
 */
export async function claimTaskWithNeeds(
  database: Database,
  id: string,
  worker: TaskWorker,
  claimMs: number,
  { lock, limit }: TaskNeeds,
): Promise<TaskClaim> {
  return await database
    .transaction(async (transaction): Promise<TaskClaim> => {
      if (limit && !(await isBelowLimit(transaction, id, limit))) return await waits(transaction, id)
      const preempted = lock ? await takeInterval(transaction, id, lock) : []
      if (preempted === undefined) return await waits(transaction, id)
      const attempt = await claimTask(transaction, id, worker, claimMs)
      if (attempt === undefined) throw new NotClaimed()
      if (lock) {
        const { dataSource, interval, priority } = lock
        await transaction.query(sql`
        INSERT INTO task_locks (task_id, datasource, start_ms, end_ms, priority)
        VALUES (${id}, ${dataSource}, ${storedTime(interval.start)}, ${storedTime(interval.end)}, ${priority})
        ON CONFLICT (task_id) DO NOTHING`)
      }
      return { kind: 'claimed', attempt, preempted }
    })
    .catch((error: unknown): TaskClaim => {
      // The rollback lets preempted tasks continue if this task does not run.
      if (error instanceof NotClaimed) return { kind: 'gone' }
      throw error
    })
}

class NotClaimed extends Error {}

async function waits(transaction: Transaction, id: string): Promise<TaskClaim> {
  await transaction.query(
    sql`UPDATE tasks SET waiting = true WHERE id = ${id} AND state = 'PENDING' AND NOT waiting`,
  )
  return { kind: 'waiting' }
}

async function isBelowLimit(
  transaction: Transaction,
  id: string,
  { type, maxRunning }: { readonly type: string; readonly maxRunning: number },
): Promise<boolean> {
  await transaction.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${type}, 3))`)
  return (await countRunningOfType(transaction, type, id)) < maxRunning
}

/**
 * Preempts other tasks in an interval of a datasource: running tasks of a lower priority with an overlapping lock fail,
 * and their IDs are returned. Returns undefined if a task of the same or a higher priority has such a lock. The
 * datasource stays locked until the transaction ends.
 */
export async function takeInterval(
  transaction: Transaction,
  id: string,
  { dataSource, interval, priority }: NonNullable<TaskNeeds['lock']>,
): Promise<readonly string[] | undefined> {
  await lockDatasource(transaction, dataSource)
  const others = await transaction.query<{ id: string; priority: number }>(sql`
    SELECT t.id, l.priority FROM task_locks l JOIN tasks t ON t.id = l.task_id AND t.state = 'RUNNING'
    WHERE l.datasource = ${dataSource} AND l.task_id <> ${id}
      AND l.start_ms < ${storedTime(interval.end)} AND l.end_ms > ${storedTime(interval.start)}`)
  if (others.some((other) => other.priority >= priority)) return undefined
  for (const other of others) {
    await cancelTask(
      transaction,
      other.id,
      `Preempted by task [${shownTaskId(id)}] with higher priority [${priority}]`,
    )
  }
  return others.map((other) => other.id)
}

/** An interval that a running task has locked. */
export interface TaskLock {
  readonly taskId: string
  readonly dataSource: string
  readonly interval: Interval
  readonly priority: number
}

/** Returns the intervals that running tasks have locked. */
export async function loadTaskLocks(queries: Queries): Promise<TaskLock[]> {
  const rows = await queries.query<{
    taskId: string
    dataSource: string
    startMs: string
    endMs: string
    priority: number
  }>(sql`
    SELECT split_part(l.task_id, chr(1), 1) AS "taskId", l.datasource AS "dataSource", l.start_ms::text AS "startMs",
      l.end_ms::text AS "endMs", l.priority
    FROM task_locks l JOIN tasks t ON t.id = l.task_id AND t.state = 'RUNNING' ORDER BY l.task_id`)
  return rows.map(({ startMs, endMs, ...lock }) => ({
    ...lock,
    interval: { start: readTime(startMs), end: readTime(endMs) },
  }))
}

const jsonOrNull = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

/**
 * Renews the claim of an attempt, and stores its progress if given. Returns false if the attempt was superseded or
 * ended.
 */
export async function renewClaim(
  queries: Queries,
  id: string,
  attempt: number,
  claimMs: number,
  progress?: unknown,
): Promise<boolean> {
  const rows = await queries.query(sql`
    UPDATE tasks SET claimed_until = clock_timestamp() + ${claimMs}::float8 * interval '1 millisecond',
      progress = coalesce(${jsonOrNull(progress)}::json, progress)
    WHERE id = ${id} AND attempt = ${attempt} AND state = 'RUNNING' RETURNING id`)
  return rows.length === 1
}

/** Releases the claims of a restarted worker, whose earlier attempts died with it. */
export async function releaseClaims(queries: Queries, workerName: string): Promise<void> {
  await queries.query(sql`
    UPDATE tasks SET claimed_until = '-infinity' WHERE worker = ${workerName} AND state = 'RUNNING'`)
}

/** How a task ended. */
export interface TaskEnd {
  readonly state: 'SUCCESS' | 'FAILED'
  readonly errorMessage: string | null
  /** Final progress; left out if it has not changed since it was stored. */
  readonly progress?: unknown
}

/** A message that quotes data may contain NUL, the only character that Postgres cannot store. */
const storable = (message: string | null): string | null => message?.replaceAll('\0', '\uFFFD') ?? null

/** Finishes an attempt. Returns false if it was superseded or ended; then nothing may be published. */
export async function finishAttempt(
  queries: Queries,
  id: string,
  attempt: number,
  end: TaskEnd,
): Promise<boolean> {
  const rows = await queries.query(sql`
    UPDATE tasks SET state = ${end.state}, error_message = ${storable(end.errorMessage)}, finished_at = clock_timestamp(),
      progress = coalesce(${jsonOrNull(end.progress)}::json, progress),
      duration_ms = (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint, claimed_until = NULL
    WHERE id = ${id} AND attempt = ${attempt} AND state = 'RUNNING' RETURNING id`)
  if (rows.length === 1) await releaseLock(queries, id)
  return rows.length === 1
}

// Locks of ended tasks are ignored even if their rows remain.
async function releaseLock(queries: Queries, id: string): Promise<void> {
  await queries.query(sql`DELETE FROM task_locks WHERE task_id = ${id}`)
}

/** Cancels a task, whether or not it is running. Returns false if it had already ended. */
export async function cancelTask(queries: Queries, id: string, errorMessage: string): Promise<boolean> {
  const rows = await queries.query(sql`
    UPDATE tasks SET state = 'FAILED', waiting = false, error_message = ${errorMessage}, finished_at = clock_timestamp(),
      duration_ms = coalesce((extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint, 0), claimed_until = NULL
    WHERE id = ${id} AND state IN ('PENDING', 'RUNNING') RETURNING id`)
  if (rows.length === 1) await releaseLock(queries, id)
  return rows.length === 1
}
