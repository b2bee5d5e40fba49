import type { Interval } from '@svc/domain/time'
import type { JsonObject } from '@svc/domain/validation'
import type { RewriteProgress, RewriteResult } from '../compaction/rewriting/index.ts'
import type { DeepStorage } from '../deep-storage/index.ts'
import type { IndexProgress, InputAccess, WrittenSegment } from '../ingestion/index.ts'
import type { ServiceContext } from '../service/index.ts'
import type { PublishedState, PublishingAttempt } from './published-rows.ts'

/** What the specs of all types have. */
export interface TaskSpec {
  readonly id: string | undefined
  readonly groupId?: string | undefined
  readonly context: Readonly<Record<string, unknown>>
  readonly dataSource: string
}

/** Everything that differs between types of tasks. */
export interface TaskType<Spec extends TaskSpec = TaskSpec, Order = unknown> {
  readonly type: string
  /** Returns the JSON schema of its JSON. */
  schema(): JsonObject
  /** The priority of tasks that set none: the default of Druid 37. */
  readonly priority: number
  /** Throws an invalidInput Failure that names the first invalid field. */
  parse(json: unknown, access: InputAccess): Spec
  /** Returns a unique ID for a task without one. */
  newId(spec: Spec): string
  /** The interval of its datasource that a task locks while it runs. Types without one take intervals when they publish. */
  lock?(spec: Spec): Interval
  /** Runs an attempt to its end. If the promise rejects, the task is retried. */
  run(spec: Spec, task: RunningTask): Promise<void>
  /** What `RunningTask.work` does in the process of the task. It cannot use the metadata store. */
  work?(order: Order, tools: WorkTools): Promise<Written>
}

/** An attempt to run a task on this server, and what it may use. */
export interface RunningTask
  extends Pick<ServiceContext, 'settings' | 'database' | 'logger' | 'clock'>,
    Pick<PublishingAttempt, 'taskId' | 'attempt'> {
  readonly payload: unknown
  readonly access: InputAccess
  readonly deepStorage: DeepStorage
  /** How long a renewed claim lasts. */
  readonly claimMs: number
  /** Aborted when the task is canceled, preempted, or handed over to another worker. */
  readonly signal: AbortSignal
  /** Calls `work` of the task type in a process of its own. */
  work(order: unknown, threads: number): Promise<WorkEnd>
  /**
   * Prepares a job, does its work, and publishes the result; stores how the task ended. A Failure ends the task, except
   * if a store is unavailable: then it rejects.
   */
  complete(prepare: () => Promise<Job>): Promise<void>
}

/** Work whose result is published. */
export interface Job {
  work(): Promise<WorkEnd>
  publish(attempt: PublishingAttempt, written: Written): Promise<PublishedState>
}

/** The columns that a compaction has written. */
export type WrittenColumns = Pick<RewriteResult, 'dimensions' | 'metrics'>

/** The segment files that a task has written. */
export interface Written {
  readonly segments: readonly WrittenSegment[]
  /** Only for a compaction. */
  readonly columns?: WrittenColumns
}

/** How work ended. */
export type WorkEnd =
  | ({ readonly kind: 'done' } & Written)
  | { readonly kind: 'failed'; readonly message: string }
  /** The process was killed because of the task's `signal`, or it crashed. */
  | { readonly kind: 'died'; readonly how: string }

/** What the work in the process of a task may use. */
export interface WorkTools {
  readonly workDirectory: string
  readonly pathPrefix: string
  readonly memoryLimitBytes: number
  readonly threads: number
  readonly deepStorage: DeepStorage
  onProgress(progress: IndexProgress | RewriteProgress): void
  /** Writes to the log of the task. */
  log(message: string, details: object): void
}
