import { readFileSync } from 'node:fs'
import type { FaultStep, WorkStep } from './schedule.ts'

/** What became of a request: done, surely not done, or nobody knows. */
export type Outcome = 'done' | 'refused' | 'unknown'

/** A segment as the metadata store has it; gone where it has it no more. */
export interface SeenSegment {
  readonly id: string
  readonly dataSource: string
  readonly day: string
  readonly version: string
  readonly state: 'used' | 'unused' | 'gone'
  /** The task that made it. */
  readonly task: string | null
}

/** An audit entry as the store has it, in the order of writing. */
export interface SeenAudit {
  readonly type: string
  readonly key: string
  /** The id of the work that it is of, where it is of one. */
  readonly comment: string
  readonly payload: string
}

/** Rows that a query has counted, by the task that brought them and by day. */
export interface CountedRows {
  readonly task: string
  readonly day: string
  readonly rows: number
}

/** All that is there when the cluster has come to rest. */
export interface Rest {
  /** Rules by datasource, `_default` among them. */
  readonly rules: Readonly<Record<string, readonly unknown[]>>
  /** The priorities of compaction tasks by datasource that has a configuration. */
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
  /** Whether each server lets the user in whose right is granted and revoked. */
  readonly letIn: Readonly<Record<string, boolean>>
}

/** One line of a history; times in milliseconds from the begin of the run. */
export type Entry =
  | {
      readonly type: 'begin'
      readonly seed: number
      readonly seconds: number
      readonly startedAt: string
      /** Faults that cannot be made here, and why. */
      readonly without: readonly string[]
    }
  | { readonly type: 'work'; readonly at: number; readonly step: WorkStep }
  | {
      readonly type: 'answer'
      readonly at: number
      readonly id: string
      readonly outcome: Outcome
      readonly status: number | null
      /** What the answer says, where the check needs it. */
      readonly told?: unknown
    }
  | { readonly type: 'fault'; readonly at: number; readonly step: FaultStep }
  /** A fault has ended; `skipped` says why it never was. */
  | { readonly type: 'faultEnd'; readonly at: number; readonly id: string; readonly skipped?: string }
  /** A server serves again after a fault. */
  | { readonly type: 'ready'; readonly at: number; readonly instance: string }
  /** A server has said, at some time between `from` and `until`, that it leads. */
  | {
      readonly type: 'claim'
      readonly from: number
      readonly until: number
      readonly role: string
      readonly instance: string
    }
  /** Who had the leases at some time between `from` and `until`, run out or not. */
  | {
      readonly type: 'leases'
      readonly from: number
      readonly until: number
      readonly leases: readonly { readonly role: string; readonly instance: string; readonly term: number }[]
    }
  /** The segments that are otherwise than when they were looked at before. */
  | {
      readonly type: 'segments'
      readonly from: number
      readonly until: number
      readonly changed: readonly SeenSegment[]
    }
  /** Segments that are always to be there and lay in no cache. */
  | {
      readonly type: 'held'
      readonly from: number
      readonly until: number
      readonly missing: readonly string[]
    }
  /** Whether a server let in, between `from` and `until`, the user whose right is granted and revoked. */
  | {
      readonly type: 'letIn'
      readonly from: number
      readonly until: number
      readonly instance: string
      readonly isLetIn: boolean
    }
  /** A write and a query, one after the other, to see whether the cluster works. */
  | { readonly type: 'probe'; readonly from: number; readonly until: number; readonly problem: string | null }
  /** The cluster has come to rest, or `problem` says what it waited for in vain. */
  | { readonly type: 'rest'; readonly at: number; readonly problem: string | null; readonly rest: Rest }

/** The entries of a file with one of them a line. Throws a plain error that names the line that is none. */
export function readHistory(file: string): Entry[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (line === '') return []
      try {
        return [JSON.parse(line) as Entry]
      } catch {
        throw new Error(`${file}:${index + 1} is no line of JSON`)
      }
    })
}
