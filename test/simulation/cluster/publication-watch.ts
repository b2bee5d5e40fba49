import { overlaps } from '@svc/domain/time'
import { shownTaskId } from '@svc/shared/postgres'
import type { SimulatedProcess } from '../kernel/index.ts'
import type { SegmentEntry, TaskEntry } from '../stand-ins/postgres/tables.ts'
import type { SimulatedCluster } from './cluster.ts'

const once = 'no task publishes twice or in part'

// After a fault, a claim on a task may expire for this time.
const troubleMs = 30_000

// A leader marks segments because of drop rules without waiting for publications, so a compaction that has just checked what it
// replaces may still publish. The rule then drops the result, too.
const justDroppedMs = 20_000

/** Knows what happened to servers and files. */
interface PublicationObserver {
  /** Milliseconds since the start of the history. */
  now(): number
  violation(invariant: string, what: string): void
  /** Whether any instance has had a fault in the last `ms`. */
  wasTroubled(ms: number): boolean
  /** Returns the state of a segment's file in deep storage. */
  fileState(segment: SegmentEntry): 'sound' | 'missing' | 'damaged'
}

/** Checks each commit that adds segments or changes tasks. */
export class PublicationWatch {
  private readonly cluster: SimulatedCluster
  private readonly observer: PublicationObserver
  private readonly published = new Set<string>()
  /** Segments and tasks before the commit. */
  private readonly segments: Map<string, SegmentEntry>
  private readonly tasks: Map<string, TaskEntry>
  /** The processes that began the attempts. */
  private readonly runners = new Map<string, SimulatedProcess | undefined>()
  /** When drop rules made segments unused. */
  private readonly droppedAt = new Map<string, number>()

  constructor(cluster: SimulatedCluster, observer: PublicationObserver) {
    this.cluster = cluster
    this.observer = observer
    const { segments, tasks } = cluster.store.tables
    this.segments = new Map(segments.rows)
    this.tasks = new Map(tasks.rows)
  }

  /** Checks the segments that a commit adds. */
  check(changed: ReadonlyMap<string, SegmentEntry | undefined>): void {
    const added = addedIn(changed, this.segments)
    for (const [taskId, segments] of Map.groupBy(added, (segment) => segment.taskId ?? ''))
      this.checkPublication(taskId, segments)
    for (const [id, segment] of changed)
      if (segment === undefined) this.segments.delete(id)
      else {
        if (!segment.used && segment.cause?.kind === 'dropRule') this.droppedAt.set(id, this.observer.now())
        this.segments.set(id, segment)
      }
  }

  /** A task publishes all its segments at once, together with its end, and their files are there. */
  private checkPublication(taskId: string, segments: readonly SegmentEntry[]): void {
    const { observer } = this
    const task = this.cluster.store.tables.tasks.rows.get(taskId)
    const name = `Task [${shownTaskId(taskId)}]`
    const ids = segments.map(({ id }) => id).join(', ')
    if (this.published.has(taskId)) observer.violation(once, `${name} published again: ${ids}`)
    this.published.add(taskId)
    if (task?.state !== 'SUCCESS')
      observer.violation(once, `${name} published [${ids}], but it has not succeeded`)
    for (const segment of segments) {
      const state = observer.fileState(segment)
      if (state !== 'sound')
        observer.violation(
          'published files are in deep storage',
          `The file of segment [${segment.id}] is ${state}`,
        )
    }
    this.checkLocks(taskId, segments)
    if (task?.type === 'compact') this.checkRows(name, segments)
  }

  /** No running task has locked the time of a segment that another task publishes. */
  private checkLocks(taskId: string, segments: readonly SegmentEntry[]): void {
    const { locks, tasks } = this.cluster.store.tables
    for (const lock of locks.rows.values()) {
      const isOther = lock.taskId !== taskId && tasks.rows.get(lock.taskId)?.state === 'RUNNING'
      for (const { id, dataSource, interval } of segments)
        if (isOther && lock.dataSource === dataSource && overlaps(lock.interval, interval))
          this.observer.violation(
            'no task publishes what another task has locked',
            `Task [${shownTaskId(taskId)}] published [${id}], which task [${shownTaskId(lock.taskId)}] has locked`,
          )
    }
  }

  /** A compaction keeps all rows of the segments that it replaces. */
  private checkRows(name: string, added: readonly SegmentEntry[]): void {
    for (const [start, segments] of Map.groupBy(added, ({ interval }) => interval.start)) {
      const [{ dataSource }] = segments as [SegmentEntry]
      const used = [...this.segments.values()].filter(
        (one) => this.wasUsed(one) && one.dataSource === dataSource && one.interval.start === start,
      )
      const newest = used
        .map(({ version }) => version)
        .sort()
        .at(-1)
      const before = rowsOf(used.filter(({ version }) => version === newest))
      const after = rowsOf(segments)
      if (before !== after)
        this.observer.violation(
          'compaction keeps all rows',
          `${name} replaced ${before} rows of [${dataSource}] by ${after} rows`,
        )
    }
  }

  /** Whether a segment is used, or was until a drop rule has just made it unused. */
  private wasUsed({ id, used }: SegmentEntry): boolean {
    return used || this.observer.now() - (this.droppedAt.get(id) ?? Number.NEGATIVE_INFINITY) < justDroppedMs
  }

  /** Checks the tasks that a commit changes. */
  noteTasks(
    changed: ReadonlyMap<string, TaskEntry | undefined>,
    segments: ReadonlyMap<string, SegmentEntry | undefined>,
  ): void {
    for (const [id, task] of changed) {
      const before = this.tasks.get(id)
      if (task === undefined) continue
      this.tasks.set(id, task)
      const name = `Task [${shownTaskId(id)}]`
      if (task.state === 'SUCCESS' && before?.state !== 'SUCCESS' && task.type === 'index_parallel')
        if (![...segments.values()].some((segment) => segment?.taskId === id))
          this.observer.violation(once, `${name} has succeeded, but has not published its segments`)
      if (task.state === 'FAILED' && task.errorMessage?.includes('metadata store is unavailable'))
        this.observer.violation('tasks wait for the metadata store', `${name} failed: ${task.errorMessage}`)
      if (before === undefined || task.attempt === before.attempt) continue
      if (before.attempt > 0) this.checkTakeover(name, before)
      this.runners.set(id, this.processOf(task))
    }
  }

  private processOf({ worker }: TaskEntry): SimulatedProcess | undefined {
    return worker === null ? undefined : this.cluster.machines.get(worker.split(':', 1)[0]!)?.process
  }

  /**
   * A task is taken over only after a fault: a fault of one server may also delay others, and a task whose worker was killed may
   * wait for other tasks.
   */
  private checkTakeover(name: string, task: TaskEntry): void {
    const { id, worker, attempt } = task
    if (!this.observer.wasTroubled(troubleMs) && this.runners.get(id) === this.processOf(task))
      this.observer.violation(
        'tasks of working servers are not taken over',
        `${name} started again, although attempt ${attempt} was running on [${worker}]`,
      )
  }
}

const addedIn = (
  changed: ReadonlyMap<string, SegmentEntry | undefined>,
  before: ReadonlyMap<string, SegmentEntry>,
): SegmentEntry[] => [...changed].flatMap(([id, segment]) => (segment && !before.has(id) ? [segment] : []))

const rowsOf = (segments: readonly SegmentEntry[]): number =>
  segments.reduce((sum, { totalRows }) => sum + totalRows, 0)
