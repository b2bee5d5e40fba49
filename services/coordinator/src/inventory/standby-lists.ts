import { copyFlag, type SegmentTable } from '@svc/domain/inventory'
import { type ServerReport, standbyKeptMs } from '@svc/shared/segment-serving'

/** The list of one server, as it reported it to this coordinator as a standby. */
interface StandbyList {
  /** Number of the server in the segment table. */
  readonly number: number
  readonly session: string
  /** Number of changes in the list. */
  readonly sequence: number
  readonly lastReportAtMs: number
}

/** The list of a server that confirmed or replaced it. */
export interface ClaimedList {
  readonly number: number
  readonly rows: readonly number[]
  readonly continues: boolean
}

const { listed } = copyFlag

/**
 * The segments that servers reported to this coordinator while it was not the leader. They are in the segment table, but count
 * for nothing until their server confirms to this coordinator, as the leader, that they are its segments up to a change.
 */
export class StandbyLists {
  private readonly table: SegmentTable
  private readonly byName = new Map<string, StandbyList>()
  /** The rows of each server by its number, once this coordinator is the leader. */
  private rowsOf: ReadonlyMap<number, readonly number[]> | undefined

  constructor(table: SegmentTable) {
    this.table = table
  }

  /** The numbers of the servers. */
  get numbers(): ReadonlySet<number> {
    return new Set([...this.byName.values()].map(({ number }) => number))
  }

  /** Returns the number of changes in the list of a server, or undefined if there is no list of this session. */
  sequenceOf({ name, session }: Pick<ServerReport, 'name' | 'session'>): number | undefined {
    const list = this.byName.get(name)
    return list?.session === session ? list.sequence : undefined
  }

  /** Applies a report. A new server gets a number. Returns false if the server must send its full list. */
  take(
    { name, session, from, to, segments, changes }: ServerReport,
    nowMs: number,
    newNumber: () => number,
  ): boolean {
    const { table } = this
    if (segments === null && this.sequenceOf({ name, session }) !== from) return false
    this.rowsOf = undefined
    const number = this.byName.get(name)?.number ?? newNumber()
    if (segments !== null) {
      if (this.byName.has(name)) table.clearServers(new Set([number]), listed)
      for (const id of segments) table.changeCopy(id, number, listed, 0)
    }
    for (const { id, change } of changes)
      if (change === 'loaded') table.changeCopy(id, number, listed, 0)
      else table.changeCopy(id, number, 0, listed)
    this.byName.set(name, { number, session, sequence: to, lastReportAtMs: nowMs })
    return true
  }

  /**
   * Forgets the list of a server whose report the leader takes. Returns the rows of its segments, which the caller must
   * unmark, and whether the report continues exactly this list.
   */
  claim(report: Pick<ServerReport, 'name' | 'session' | 'from' | 'segments'>): ClaimedList | undefined {
    const list = this.byName.get(report.name)
    if (list === undefined) return undefined
    this.rowsOf ??= this.rowsByServer()
    this.byName.delete(report.name)
    const continues =
      report.segments === null && list.session === report.session && list.sequence === report.from
    return { number: list.number, rows: this.rowsOf.get(list.number) ?? [], continues }
  }

  /** Forgets the lists of servers that stopped reporting; without a time, all lists. Returns the numbers of the servers. */
  forget(nowMs = Number.POSITIVE_INFINITY): ReadonlySet<number> {
    const silent = [...this.byName].filter(([, { lastReportAtMs }]) => nowMs - lastReportAtMs > standbyKeptMs)
    const numbers = new Set(silent.map(([, { number }]) => number))
    for (const [name] of silent) this.byName.delete(name)
    if (numbers.size > 0) this.table.clearServers(numbers, listed)
    this.rowsOf = undefined
    return numbers
  }

  /** Scans all replicas once, because servers may confirm their lists one by one. */
  private rowsByServer(): ReadonlyMap<number, readonly number[]> {
    const { copies } = this.table
    const rowsOf = new Map<number, number[]>()
    for (const number of this.numbers) rowsOf.set(number, [])
    for (let entry = 0; entry < copies.limit; entry += 1)
      if (copies.serverOf[entry] !== -1 && (copies.flagsOf[entry]! & listed) !== 0)
        rowsOf.get(copies.serverOf[entry]!)?.push(copies.rowOf[entry]!)
    return rowsOf
  }
}
