import { type Database, type Queries, sql } from './database.ts'

/** Where a task is in its life; SUCCESS and FAILED are final. */
export type TaskState = 'PENDING' | 'RUNNING' | 'SUCCESS' | 'FAILED'

/** A task as it is submitted. */
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
  readonly id: string
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
}

const taskColumns = sql`id, group_id AS "groupId", type, datasource AS "dataSource", priority, created_at AS "createdAt",
  submitted_by AS "submittedBy", state, attempt, worker, worker_host AS "workerHost", worker_port AS "workerPort",
  worker_tls_port AS "workerTlsPort", started_at AS "startedAt", finished_at AS "finishedAt",
  duration_ms AS "durationMs", progress, error_message AS "errorMessage"`

/** Stores a task; false if there is one of this id. */
export async function saveTask(queries: Queries, task: NewTask): Promise<boolean> {
  const { id, groupId, type, dataSource, priority, payload, submittedBy } = task
  const rows = await queries.query(sql`
    INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state)
    VALUES (${id}, ${groupId}, ${type}, ${dataSource}, ${priority}, ${JSON.stringify(payload)}, now(), ${submittedBy},
      'PENDING')
    ON CONFLICT DO NOTHING RETURNING id`)
  return rows.length === 1
}

/** One task, or undefined. */
export async function loadTask(queries: Queries, id: string): Promise<StoredTask | undefined> {
  const [task] = await queries.query<StoredTask>(sql`SELECT ${taskColumns} FROM tasks WHERE id = ${id}`)
  return task
}

/** What a task was asked to do. */
export async function loadTaskPayload(queries: Queries, id: string): Promise<unknown> {
  const [task] = await queries.query<{ payload: unknown }>(sql`SELECT payload FROM tasks WHERE id = ${id}`)
  return task?.payload
}

/** Which tasks to list, newest first. */
export interface TaskQuery {
  readonly states?: readonly TaskState[] | undefined
  readonly dataSource?: string | undefined
  readonly type?: string | undefined
  readonly limit: number
}

/** Tasks, newest first. */
export async function loadTasks(queries: Queries, query: TaskQuery): Promise<StoredTask[]> {
  const { states, dataSource, type, limit } = query
  return await queries.query<StoredTask>(sql`
    SELECT ${taskColumns} FROM tasks
    WHERE (${states ?? null}::text[] IS NULL OR state = ANY(${states ?? null}::text[]))
      AND (${dataSource ?? null}::text IS NULL OR datasource = ${dataSource ?? null})
      AND (${type ?? null}::text IS NULL OR type = ${type ?? null})
    ORDER BY created_at DESC, id LIMIT ${limit}`)
}

/** How many unfinished tasks there are of each type in each state. */
export async function countTasks(
  queries: Queries,
): Promise<{ readonly type: string; readonly state: TaskState; readonly count: number }[]> {
  return await queries.query(sql`
    SELECT type, state, count(*)::int AS count FROM tasks WHERE state IN ('PENDING', 'RUNNING')
    GROUP BY type, state`)
}

/** Tasks that no worker works on: never claimed, or claimed by one that stopped telling. */
export async function loadUnclaimedTasks(queries: Queries, limit: number): Promise<StoredTask[]> {
  return await queries.query<StoredTask>(sql`
    SELECT ${taskColumns} FROM tasks
    WHERE state = 'PENDING' OR (state = 'RUNNING' AND claimed_until < clock_timestamp())
    ORDER BY priority DESC, created_at LIMIT ${limit}`)
}

/** The server that runs a task. */
export interface TaskWorker {
  readonly name: string
  readonly host: string
  readonly port: number | null
  readonly tlsPort: number | null
}

/** Claims a task for a worker; the number of the attempt, or undefined if it is not to be run (any more). */
export async function claimTask(
  queries: Queries,
  id: string,
  worker: TaskWorker,
  claimMs: number,
): Promise<number | undefined> {
  const [task] = await queries.query<{ attempt: number }>(sql`
    UPDATE tasks
    SET state = 'RUNNING', attempt = attempt + 1, worker = ${worker.name}, worker_host = ${worker.host},
        worker_port = ${worker.port}, worker_tls_port = ${worker.tlsPort}, started_at = clock_timestamp(),
        claimed_until = clock_timestamp() + ${claimMs}::float8 * interval '1 millisecond'
    WHERE id = ${id} AND (state = 'PENDING' OR (state = 'RUNNING' AND claimed_until < clock_timestamp()))
    RETURNING attempt`)
  return task?.attempt
}

const jsonOrNull = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

/** Tells that an attempt is still at work, and how far it is if that is given; false if it no longer counts. */
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

/** Ends the attempts of a worker that has just started anew: whatever it ran before died with it. */
export async function releaseClaims(queries: Queries, workerName: string): Promise<void> {
  await queries.query(sql`
    UPDATE tasks SET claimed_until = '-infinity' WHERE worker = ${workerName} AND state = 'RUNNING'`)
}

/** How a task ended. */
export interface TaskEnd {
  readonly state: 'SUCCESS' | 'FAILED'
  readonly errorMessage: string | null
  /** How far it came; left out where nothing newer is known than what was stored. */
  readonly progress?: unknown
}

/** A message that tells of data may hold the one character that the store cannot. */
const storable = (message: string | null): string | null => message?.replaceAll('\0', '\uFFFD') ?? null

/** Finishes an attempt; false if it is not the one that counts, and then nothing may be published. */
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
  return rows.length === 1
}

/** Ends a task for good whatever its attempt is at; false if it was over already. */
export async function cancelTask(database: Database, id: string, errorMessage: string): Promise<boolean> {
  const rows = await database.query(sql`
    UPDATE tasks SET state = 'FAILED', error_message = ${errorMessage}, finished_at = clock_timestamp(),
      duration_ms = coalesce((extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint, 0), claimed_until = NULL
    WHERE id = ${id} AND state IN ('PENDING', 'RUNNING') RETURNING id`)
  return rows.length === 1
}
