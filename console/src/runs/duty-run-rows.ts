import { countOf, formatCount } from '@svc/domain/text'

/** The requests of a run to other servers, and what has become of them. */
export interface RunRequests {
  readonly decided: number
  readonly sent: number
  readonly retried: number
  readonly answered: number
  readonly failed: number
}

/** One run of the duties of a group. */
export interface DutyGroupRun {
  /** 1 for the first run since the server started. */
  readonly number: number
  /** ISO 8601, in real time also if the clock of the cluster is simulated. */
  readonly startedAt: string
  readonly durationMs: number
  readonly duties: readonly {
    readonly duty: string
    readonly durationMs: number
    readonly did: Readonly<Record<string, unknown>> | null
    readonly error: string | null
    readonly requests?: RunRequests
  }[]
}

/** The last runs of a group, newest first. */
export interface DutyHistory {
  readonly name: string
  readonly totalRuns: number
  readonly runs: readonly DutyGroupRun[]
  /** The last runs that did something or failed, however many idle runs followed them. */
  readonly nonIdleRuns: readonly DutyGroupRun[]
  /** The last failure of each duty that has failed. */
  readonly lastFailures: readonly {
    readonly duty: string
    /** ISO 8601. */
    readonly startedAt: string
    readonly error: string
  }[]
}

/** A run that did something, or consecutive runs that had nothing to do. */
export type RunRow =
  | { readonly kind: 'run'; readonly run: DutyGroupRun; readonly requests: RunRequests | undefined }
  | {
      readonly kind: 'idle'
      readonly runs: number
      /** When the oldest and the newest of them started, or runs next to them. ISO 8601. */
      readonly since: string
      readonly until: string
    }

/** The runs of a group as rows. */
export interface RunRows {
  readonly rows: readonly RunRow[]
  /** Number of earlier runs, of which nothing is known. */
  readonly earlierRuns: number
}

/**
 * Returns the runs of a group, newest first, with those in between that had nothing to do as one row. The server lists all
 * of its last runs that did something, so runs that are not listed between two of them had nothing to do.
 */
export function runRows({ runs, nonIdleRuns }: DutyHistory): RunRows {
  const listed = new Map([...nonIdleRuns, ...runs].map((run) => [run.number, run]))
  const rows: RunRow[] = []
  let newer: DutyGroupRun | undefined
  for (const run of [...listed.values()].sort((a, b) => b.number - a.number)) {
    // The oldest runs may have done something that the server no longer knows.
    const missing = newer === undefined ? 0 : newer.number - run.number - 1
    if (missing > 0) addIdle(rows, missing, run.startedAt, newer!.startedAt)
    if (isIdle(run)) addIdle(rows, 1, run.startedAt, run.startedAt)
    else rows.push({ kind: 'run', run, requests: requestsOf(run) })
    newer = run
  }
  return { rows, earlierRuns: newer === undefined ? 0 : newer.number - 1 }
}

/** Adds consecutive idle runs that are older than all rows. */
function addIdle(rows: RunRow[], runs: number, since: string, until: string): void {
  const last = rows.at(-1)
  if (last?.kind === 'idle') rows[rows.length - 1] = { ...last, runs: last.runs + runs, since }
  else rows.push({ kind: 'idle', runs, since, until })
}

const isIdle = ({ duties }: DutyGroupRun): boolean =>
  duties.every(({ did, error, requests }) => did === null && error === null && requests === undefined)

function requestsOf({ duties }: DutyGroupRun): RunRequests | undefined {
  const all = duties.flatMap(({ requests }) => requests ?? [])
  if (all.length === 0) return undefined
  const sum = (name: keyof RunRequests) => all.reduce((total, one) => total + one[name], 0)
  return {
    decided: sum('decided'),
    sent: sum('sent'),
    retried: sum('retried'),
    answered: sum('answered'),
    failed: sum('failed'),
  }
}

const texts: Readonly<Record<string, (count: number) => string>> = {
  loads: (count) => countOf(count, 'load'),
  moves: (count) => countOf(count, 'move'),
  drops: (count) => countOf(count, 'drop'),
  markedUnused: (count) => `${countOf(count, 'segment')} marked as unused`,
  submitted: (count) => `${countOf(count, 'compaction task')} submitted`,
  postponed: (count) => `${formatCount(count)} postponed`,
  killTasks: (count) => `${countOf(count, 'kill task')} submitted`,
  erasedAuditEntries: (count) => `${countOf(count, 'audit entry', 'audit entries')} deleted`,
  queued: (count) => `${countOf(count, 'task')} queued`,
}

/** Says what the duties of a run did. */
export function didText({ duties }: DutyGroupRun): string {
  const parts = duties.flatMap(({ did }) =>
    Object.entries(did ?? {}).flatMap(([name, value]) => {
      if (typeof value !== 'number') return [`${name}: ${JSON.stringify(value)}`]
      if (value === 0) return []
      return [texts[name]?.(value) ?? `${name}: ${formatCount(value)}`]
    }),
  )
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}
