import { copyFlag, type SegmentTable } from '@svc/domain/inventory'
import type { PendingRequest } from './pending-request.ts'

const { served, dropping } = copyFlag

function* servedEntries({ copies }: SegmentTable, server: number): Generator<number> {
  for (let entry = 0; entry < copies.limit; entry++)
    if (copies.serverOf[entry] === server && ((copies.flagsOf[entry] as number) & served) !== 0) yield entry
}

function pendingEntries({ copies }: SegmentTable, server: number): number[] {
  const entries: number[] = []
  copies.forEachPending((entry) => {
    if (copies.serverOf[entry] === server) entries.push(entry)
  })
  return entries.sort((one, other) => one - other)
}

/** IDs of the segments that one server serves. Iterating over them scans all replicas of the cluster. */
export class ServedIds implements Iterable<string> {
  private readonly table: SegmentTable
  private readonly server: number

  constructor(table: SegmentTable, server: number) {
    this.table = table
    this.server = server
  }

  has(id: string): boolean {
    const row = this.table.rowOf(id)
    return row >= 0 && (this.table.copies.flags(row, this.server) & served) !== 0
  }

  count(): number {
    let count = 0
    for (const _entry of servedEntries(this.table, this.server)) count += 1
    return count
  }

  /** Returns the number of those whose datasource, by number, is included. Unused segments are not counted. */
  countOf(isIncluded: readonly boolean[]): number {
    const { copies, groupOf, datasourceOf } = this.table
    let count = 0
    for (const entry of servedEntries(this.table, this.server))
      if (isIncluded[datasourceOf[groupOf[copies.rowOf[entry] as number]!]!]) count += 1
    return count
  }

  *[Symbol.iterator](): Generator<string> {
    const { table } = this
    for (const entry of servedEntries(table, this.server))
      yield table.idOf(table.copies.rowOf[entry] as number)
  }
}

/** Unanswered requests to one server, by segment ID. Iterating over them scans all unanswered requests of the cluster. */
export class PendingView implements Iterable<[string, PendingRequest]> {
  private readonly table: SegmentTable
  private readonly server: number

  constructor(table: SegmentTable, server: number) {
    this.table = table
    this.server = server
  }

  get size(): number {
    return pendingEntries(this.table, this.server).length
  }

  *keys(): Generator<string> {
    for (const [id] of this) yield id
  }

  *[Symbol.iterator](): Generator<[string, PendingRequest]> {
    const { table } = this
    const { copies } = table
    for (const entry of pendingEntries(table, this.server)) {
      const row = copies.rowOf[entry] as number
      const isDrop = ((copies.flagsOf[entry] as number) & dropping) !== 0
      yield [
        table.idOf(row),
        {
          action: isDrop ? 'drop' : 'load',
          sizeBytes: isDrop ? 0 : (table.sizeOf[row] as number),
          sentAtMs: copies.sentAtOf[entry] as number,
        },
      ]
    }
  }
}
