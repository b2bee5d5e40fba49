import { readFileSync } from 'node:fs'
import type { FaultStep, WorkStep } from './schedule.ts'

/** The outcome of a request: done, certainly not done, or unknown. */
export type Outcome = 'done' | 'refused' | 'unknown'

/** A segment in the metadata store; `gone` once it is deleted there. */
export interface SeenSegment {
  readonly id: string
  readonly dataSource: string
  readonly day: string
  readonly version: string
  readonly state: 'used' | 'unused' | 'gone'
  /** The task that created it. */
  readonly task: string | null
}

/** A stored audit entry; entries are in the order of writing. */
export interface SeenAudit {
  readonly type: string
  readonly key: string
  /** The id of the work that it belongs to, if any. */
  readonly comment: string
  readonly payload: string
}

/** Rows counted by a query, by the task that wrote them and by day. */
export interface CountedRows {
  readonly task: string
  readonly day: string
  readonly rows: number
}

/** The final state, once the cluster is idle. */
export interface Rest {
  /** Rules by datasource, including `_default`. */
  readonly rules: Readonly<Record<string, readonly unknown[]>>
  /** The priorities of compaction tasks by datasource, for datasources with a configuration. */
  readonly compaction: Readonly<Record<string, number>>
  readonly audit: readonly SeenAudit[]
  readonly segments: readonly (SeenSegment & { readonly file: 'sound' | 'missing' | 'damaged' })[]
  readonly tasks: readonly {
    readonly id: string
    readonly state: string
    readonly createdAt: number
    readonly finishedAt: number | null
  }[]
  /** Rows by datasource. */
  readonly rows: Readonly<Record<string, readonly CountedRows[]>>
  /** Ids of segments by historical. */
  readonly served: Readonly<Record<string, readonly string[]>>
  /** Whether each server gives access to the user whose permission is granted and revoked. */
  readonly accepted: Readonly<Record<string, boolean>>
}

/** One line of a history; times are milliseconds since the start of the run. */
export type Entry =
  | {
      readonly type: 'begin'
      readonly seed: number
      readonly seconds: number
      readonly startedAt: string
      /** Faults that are not possible on this machine, and why. */
      readonly without: readonly string[]
    }
  | { readonly type: 'work'; readonly at: number; readonly step: WorkStep }
  | {
      readonly type: 'answer'
      readonly at: number
      readonly id: string
      readonly outcome: Outcome
      readonly status: number | null
      /** The content of the answer, where the check needs it. */
      readonly response?: unknown
    }
  | { readonly type: 'fault'; readonly at: number; readonly step: FaultStep }
  /** A fault has ended; `skipped` says why it was not injected. */
  | { readonly type: 'faultEnd'; readonly at: number; readonly id: string; readonly skipped?: string }
  /** A server is ready again after a fault. */
  | { readonly type: 'ready'; readonly at: number; readonly instance: string }
  /** A server claimed to be the leader at some time between `from` and `until`. */
  | {
      readonly type: 'claim'
      readonly from: number
      readonly until: number
      readonly role: string
      readonly instance: string
    }
  /** The owners of the leases at some time between `from` and `until`, expired or not. */
  | {
      readonly type: 'leases'
      readonly from: number
      readonly until: number
      readonly leases: readonly { readonly role: string; readonly instance: string; readonly term: number }[]
    }
  /** The segments that have changed since the previous look. */
  | {
      readonly type: 'segments'
      readonly from: number
      readonly until: number
      readonly changed: readonly SeenSegment[]
    }
  /** Segments that must always be available but were in no cache. */
  | {
      readonly type: 'held'
      readonly from: number
      readonly until: number
      readonly missing: readonly string[]
    }
  /**
   * Whether a server gave access, between `from` and `until`, to the user whose permission is granted and
   * revoked.
   */
  | {
      readonly type: 'accepted'
      readonly from: number
      readonly until: number
      readonly instance: string
      readonly isAccepted: boolean
    }
  /** A write and then a query, to see whether the cluster works. */
  | { readonly type: 'probe'; readonly from: number; readonly until: number; readonly problem: string | null }
  /** The cluster is idle; otherwise `problem` says what it was still waiting for. */
  | { readonly type: 'rest'; readonly at: number; readonly problem: string | null; readonly rest: Rest }

/**
 * Returns the entries of a file with one JSON entry per line. Throws an Error with the number of an invalid
 * line.
 */
export function readHistory(file: string): Entry[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (line === '') return []
      try {
        return [JSON.parse(line) as Entry]
      } catch {
        throw new Error(`${file}:${index + 1} is not valid JSON`)
      }
    })
}
