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

/** A run that did something, or consecutive runs that had nothing to do. */
export type RunRow =
  | { readonly kind: 'run'; readonly run: DutyGroupRun; readonly requests: RunRequests | undefined }
  /** Newest and oldest run. */
  | {
      readonly kind: 'idle'
      readonly runs: number
      readonly newest: DutyGroupRun
      readonly oldest: DutyGroupRun
    }

/** Returns runs in the given order, with those in between that had nothing to do as one row. */
export function runRows(runs: readonly DutyGroupRun[]): RunRow[] {
  const rows: RunRow[] = []
  for (const run of runs) {
    const last = rows.at(-1)
    if (!isIdle(run)) rows.push({ kind: 'run', run, requests: requestsOf(run) })
    else if (last?.kind === 'idle') rows[rows.length - 1] = { ...last, runs: last.runs + 1, oldest: run }
    else rows.push({ kind: 'idle', runs: 1, newest: run, oldest: run })
  }
  return rows
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
