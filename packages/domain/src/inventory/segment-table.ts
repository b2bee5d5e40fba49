import { parseSegmentId, type Segment, segmentId } from '../segment/index.ts'
import type { Interval } from '../time/index.ts'
import { coveredGroups, type TimelineGroup } from '../timeline/index.ts'
import { ChangeJournal } from './change-journal.ts'
import { CopyTable, copyFlag, pendingFlags } from './copy-table.ts'
import { grown } from './grow-column.ts'
import { HashIndex, hashNumber, hashText } from './hash-index.ts'
import { IntervalUnion } from './interval-union.ts'

/** A datasource of the table. Its groups are in no particular order. */
interface Datasource {
  readonly name: string
  readonly number: number
  groups: Int32Array<ArrayBuffer>
  groupCount: number
  usedCount: number
  hiddenCount: number
  /** Number of changes to its segments. */
  changes: number
  /** Intervals in which groups were added, removed, or extended since the timeline was last settled. */
  changed: Interval[]
  /** Intervals in which overshadowed groups may have become covered by served segments. */
  toCover: Interval[]
}

/** A used segment as read from the metadata store. */
export type NewSegment = Omit<Segment, 'interval'> & Pick<Interval, 'start' | 'end'>

/** A column of numbers that only its table writes. */
interface Column {
  readonly length: number
  readonly [index: number]: number
}

type ReadonlyColumns<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Int32Array | Float64Array | Uint8Array
    ? Column
    : Table[Name]
}

// With more changed intervals than this, the entire datasource is checked.
const maxIntervals = 2000

class WritableSegmentTable {
  readonly copies = new CopyTable()
  /** Number of times that a server started or stopped serving a segment. */
  servedChanges = 0
  /** Number of changes to what servers have and to their pending requests. */
  copyChanges = 0
  /** Upper bound of the row numbers used so far. */
  rowLimit = 0
  /** The group of a used segment; -1 for an unused segment, -2 for a free row. */
  groupOf = new Int32Array(0)
  partitionNumOf = new Int32Array(0)
  partitionsOf = new Int32Array(0)
  sizeOf = new Float64Array(0)
  totalRowsOf = new Float64Array(0)
  /** 1 for a row that the next run must check. */
  markedOf = new Uint8Array(0)
  private nextInGroup = new Int32Array(0)
  private previousInGroup = new Int32Array(0)

  /** Upper bound of the group numbers used so far. */
  groupLimit = 0
  /** The number of a group's datasource; -1 for a free group. */
  datasourceOf = new Int32Array(0)
  startOf = new Float64Array(0)
  endOf = new Float64Array(0)
  /** 1 for a group that is overshadowed by higher versions. */
  hiddenOf = new Uint8Array(0)
  memberCountOf = new Int32Array(0)
  /** The rule that the last run found for a group; -1 before the first run. */
  ruleOf = new Int32Array(0)
  private readonly versionOf: string[] = []
  private firstRowOf = new Int32Array(0)
  private placeOf = new Int32Array(0)

  private readonly rowsById = new HashIndex()
  private readonly groupsByKey = new HashIndex()
  /** The ids of unused rows, and of used rows whose id does not follow from their columns. */
  private readonly texts = new Map<number, string>()
  private readonly freeRows: number[] = []
  private readonly freeGroups: number[] = []
  private readonly datasourcesByName = new Map<string, Datasource>()
  private readonly datasourceList: Datasource[] = []
  private readonly names: string[] = []
  private usedRows = 0
  /** Number and size of the loads in the queue of each server. */
  private queuedLoads = new Int32Array(0)
  private queuedLoadBytes = new Float64Array(0)
  private journal: ChangeJournal | undefined

  /** Records changes in a journal from now on. Without a journal, changes cost nothing. */
  startJournal(): ChangeJournal {
    this.journal = new ChangeJournal()
    return this.journal
  }

  /** Stops noting changes. */
  stopJournal(): void {
    this.journal = undefined
  }

  /** The number of used segments. */
  get usedCount(): number {
    return this.usedRows
  }

  /** The names of the datasources by number. Some may no longer have used segments. Grows when the table gets another datasource. */
  get datasourceNames(): readonly string[] {
    return this.names
  }

  /** Returns the number of a datasource, or -1. */
  datasourceNumber(name: string): number {
    return this.datasourcesByName.get(name)?.number ?? -1
  }

  /** Returns the number of used segments of a datasource. */
  usedCountOf(datasource: number): number {
    return this.datasourceList[datasource]?.usedCount ?? 0
  }

  /** Returns a number that changes whenever used segments are added, removed, overshadowed, or made visible again. */
  changesOf(datasource: number): number {
    return this.datasourceList[datasource]?.changes ?? 0
  }

  /** Returns the groups of a datasource, in no particular order. */
  groupsOf(datasource: number): Int32Array {
    const { groups, groupCount } = this.datasourceList[datasource]!
    return groups.subarray(0, groupCount)
  }

  /** Returns the datasource of a used segment by number, or -1. */
  datasourceOfRow(row: number): number {
    return this.isUsed(row) ? this.datasourceOf[this.groupOf[row]!]! : -1
  }

  /** Returns the version of a group. */
  version(group: number): string {
    return this.versionOf[group]!
  }

  /** Calls `visit` for every used segment of a group. */
  forEachRow(group: number, visit: (row: number) => void): void {
    for (let row = this.firstRowOf[group]!; row >= 0; row = this.nextInGroup[row]!) visit(row)
  }

  isUsed(row: number): boolean {
    return row >= 0 && this.groupOf[row]! >= 0
  }

  /** Whether the segment is overshadowed by higher versions. */
  isHidden(row: number): boolean {
    return this.isUsed(row) && this.hiddenOf[this.groupOf[row]!] === 1
  }

  /** Returns the row of an id, or -1. */
  rowOf(id: string): number {
    return this.findRow(id, hashText(id))
  }

  private findRow(id: string, hash: number): number {
    return this.rowsById.find(hash, (row) => this.idOf(row) === id)
  }

  /**
   * Returns the datasource of a segment, or undefined if the segment is unused and its datasource is unknown. For an
   * unused segment, the datasource must be found by its id.
   */
  datasourceNameOf(id: string, row = this.rowOf(id)): string | undefined {
    if (this.isUsed(row)) return this.datasourceList[this.datasourceOf[this.groupOf[row]!]!]!.name
    for (let end = id.lastIndexOf('_'); end > 0; end = id.lastIndexOf('_', end - 1)) {
      const name = id.slice(0, end)
      if (this.datasourcesByName.has(name) && parseSegmentId(name, id)) return name
    }
    return undefined
  }

  /** Returns the id of a row. */
  idOf(row: number): string {
    return this.texts.get(row) ?? this.writtenId(row)
  }

  private writtenId(row: number): string {
    const group = this.groupOf[row]!
    return segmentId({
      dataSource: this.datasourceList[this.datasourceOf[group]!]!.name,
      interval: { start: this.startOf[group]!, end: this.endOf[group]! },
      version: this.versionOf[group]!,
      partitionNum: this.partitionNumOf[row]!,
    })
  }

  /** Returns the used segment of a row. */
  segment(row: number): Segment {
    const group = this.groupOf[row]!
    return {
      id: this.idOf(row),
      dataSource: this.datasourceList[this.datasourceOf[group]!]!.name,
      interval: { start: this.startOf[group]!, end: this.endOf[group]! },
      version: this.versionOf[group]!,
      partitionNum: this.partitionNumOf[row]!,
      partitions: this.partitionsOf[row]!,
      sizeBytes: this.sizeOf[row]!,
      totalRows: this.totalRowsOf[row]!,
    }
  }

  /** Adds a used segment. Does nothing if it is already known as used. Returns its row. */
  put(segment: NewSegment): number {
    const hash = hashText(segment.id)
    let row = this.findRow(segment.id, hash)
    if (row >= 0 && this.groupOf[row]! >= 0) return row
    if (row < 0) row = this.addRow(hash)
    const group = this.groupFor(segment)
    this.groupOf[row] = group
    this.partitionNumOf[row] = segment.partitionNum
    this.partitionsOf[row] = segment.partitions
    this.setSize(row, segment.sizeBytes)
    this.totalRowsOf[row] = segment.totalRows
    const first = this.firstRowOf[group]!
    this.nextInGroup[row] = first
    this.previousInGroup[row] = -1
    if (first >= 0) this.previousInGroup[first] = row
    this.firstRowOf[group] = row
    this.memberCountOf[group]! += 1
    if (this.writtenId(row) === segment.id) this.texts.delete(row)
    else this.texts.set(row, segment.id)
    const datasource = this.datasourceList[this.datasourceOf[group]!]!
    datasource.usedCount += 1
    if (this.hiddenOf[group] === 1) datasource.hiddenCount += 1
    this.usedRows += 1
    this.noteChanged(datasource, group)
    this.journal?.note('added', datasource.number, row)
    this.markedOf[row] = 1
    return row
  }

  /** Marks a segment as unused. Its row stays while a server holds, loads, or drops it. */
  remove(id: string): void {
    const row = this.rowOf(id)
    if (row < 0 || this.groupOf[row]! < 0) return
    const group = this.groupOf[row]!
    const datasource = this.datasourceList[this.datasourceOf[group]!]!
    this.noteChanged(datasource, group)
    this.journal?.note('removed', datasource.number, row)
    this.texts.set(row, this.idOf(row))
    const [before, after] = [this.previousInGroup[row]!, this.nextInGroup[row]!]
    if (before >= 0) this.nextInGroup[before] = after
    else this.firstRowOf[group] = after
    if (after >= 0) this.previousInGroup[after] = before
    this.groupOf[row] = -1
    this.usedRows -= 1
    datasource.usedCount -= 1
    if (this.hiddenOf[group] === 1) datasource.hiddenCount -= 1
    this.memberCountOf[group]! -= 1
    if (this.memberCountOf[group] === 0) this.removeGroup(datasource, group)
    this.markedOf[row] = 1
    this.freeIfIdle(row)
  }

  /**
   * Sets and clears flags (see copyFlag) of a segment on a server. `row` is the row of the segment, which may be
   * unknown so far.
   */
  changeCopy(id: string, server: number, set: number, clear: number, row = this.rowOf(id)): number {
    if (row >= 0) return this.changeRow(row, server, set, clear)
    if (set === 0) return -1
    const added = this.addRow(hashText(id))
    this.texts.set(added, id)
    return this.changeRow(added, server, set, clear)
  }

  /** Like `changeCopy`, for a row. Returns the entry of the copy table, or -1 if no flags remain. */
  changeRow(row: number, server: number, set: number, clear: number): number {
    const before = this.copies.flags(row, server)
    const entry = this.copies.change(row, server, set, clear)
    const after = entry < 0 ? 0 : this.copies.flagsOf[entry]!
    if (before === after) return entry
    this.copyChanges += 1
    this.markedOf[row] = 1
    const loads = queuedLoadsIn(after) - queuedLoadsIn(before)
    if (loads !== 0) this.noteQueuedLoads(server, loads, loads * this.sizeOf[row]!)
    if (((before ^ after) & copyFlag.served) !== 0) {
      this.servedChanges += 1
      const group = this.groupOf[row]!
      if (group >= 0) {
        this.noteServedChange(group)
        const change = (after & copyFlag.served) === 0 ? 'dropped' : 'loaded'
        this.journal?.note(change, this.datasourceOf[group]!, row)
      }
    }
    if (entry < 0) this.freeIfIdle(row)
    return entry
  }

  /** Clears `leaving` of an entry of the copy table. This affects only moves, so the row is not marked. */
  abandonMove(entry: number): void {
    this.copyChanges += 1
    this.copies.flagsOf[entry]! &= ~copyFlag.leaving
  }

  /** Records when the pending request of an entry of the copy table was sent, in milliseconds of the caller's clock. */
  noteSent(entry: number, sentAtMs: number): void {
    this.copies.sentAtOf[entry] = sentAtMs
  }

  /** Records the size of an unused segment, which is known only from its load. */
  noteSize(row: number, sizeBytes: number): void {
    if (!this.isUsed(row)) this.setSize(row, sizeBytes)
  }

  /** Returns the number of loads in the queue of a server. */
  queuedLoadsOf(server: number): number {
    return this.queuedLoads[server] ?? 0
  }

  /** Returns the size of the segments that are in the load queue of a server. */
  queuedLoadBytesOf(server: number): number {
    return this.queuedLoadBytes[server] ?? 0
  }

  private noteQueuedLoads(server: number, count: number, sizeBytes: number): void {
    this.queuedLoads = grown(this.queuedLoads, server + 1)
    this.queuedLoadBytes = grown(this.queuedLoadBytes, server + 1)
    this.queuedLoads[server]! += count
    this.queuedLoadBytes[server]! += sizeBytes
  }

  private setSize(row: number, sizeBytes: number): void {
    const { firstOf, nextOf, serverOf, flagsOf } = this.copies
    const change = sizeBytes - this.sizeOf[row]!
    this.sizeOf[row] = sizeBytes
    for (let entry = firstOf[row]!; entry >= 0; entry = nextOf[entry]!)
      if (queuedLoadsIn(flagsOf[entry]!) === 1) this.noteQueuedLoads(serverOf[entry]!, 0, change)
  }

  /** Records the rule of a group. */
  noteRule(group: number, rule: number): void {
    this.ruleOf[group] = rule
  }

  /** Records whether the next run must check a row again. */
  noteChecked(row: number, isOpen: boolean): void {
    this.markedOf[row] = isOpen ? 1 : 0
  }

  /** Clears `flags` (default: all) of all segments on these servers. Scans all replicas once. */
  clearServers(servers: ReadonlySet<number>, flags = 255): void {
    const { copies } = this
    for (let entry = 0; entry < copies.limit; entry += 1) {
      const server = copies.serverOf[entry]!
      if (servers.has(server)) this.changeRow(copies.rowOf[entry]!, server, 0, flags)
    }
  }

  /** Marks every segment that these servers hold, load, or drop. Scans all replicas once. */
  markServers(servers: ReadonlySet<number>): void {
    const { copies } = this
    for (let entry = 0; entry < copies.limit; entry += 1)
      if (servers.has(copies.serverOf[entry]!)) this.markedOf[copies.rowOf[entry]!] = 1
  }

  /** Marks all segments of a group. */
  markGroup(group: number): void {
    for (let row = this.firstRowOf[group]!; row >= 0; row = this.nextInGroup[row]!) this.markedOf[row] = 1
  }

  /** Marks all segments, so that the next run checks everything. */
  markAll(): void {
    for (let row = 0; row < this.rowLimit; row += 1) if (this.groupOf[row] !== -2) this.markedOf[row] = 1
    for (const datasource of this.datasourceList) {
      if (datasource.groupCount > 0) datasource.changed = [everything]
      if (datasource.hiddenCount > 0) datasource.toCover = [everything]
    }
  }

  /** Records a change to a group that may cover overshadowed groups with served segments. */
  noteServedChange(group: number): void {
    const datasource = this.datasourceList[this.datasourceOf[group]!]!
    if (datasource.hiddenCount > 0) this.note(datasource.toCover, group)
  }

  /**
   * Updates which groups are overshadowed where that may have changed, and marks the segments of groups that changed.
   */
  settleTimeline(): void {
    for (const datasource of this.datasourceList) {
      if (datasource.changed.length === 0) continue
      const touched = new IntervalUnion(datasource.changed)
      datasource.changed = []
      const judged = this.overlapping(datasource, touched)
      const around = new IntervalUnion(judged.map((group) => this.interval(group)))
      const present = judged.length === datasource.groupCount ? judged : this.overlapping(datasource, around)
      const hidden = this.hiddenAmong(present)
      for (const group of judged) {
        const isHidden = hidden.has(group)
        if (isHidden === (this.hiddenOf[group] === 1)) continue
        this.hiddenOf[group] = isHidden ? 1 : 0
        datasource.changes += 1
        datasource.hiddenCount += isHidden ? this.memberCountOf[group]! : -this.memberCountOf[group]!
        this.markGroup(group)
        this.noteVisibility(datasource, group)
      }
      if (datasource.hiddenCount > 0)
        for (const interval of touched.intervals) datasource.toCover.push(interval)
      if (datasource.hiddenCount === 0) datasource.toCover = []
    }
  }

  /**
   * Returns the overshadowed groups that are completely covered by segments for which `hides` returns true. Checks only
   * groups for which that may have changed since the last call, and those that the last call returned.
   */
  takeCovered(hides: (row: number, group: number) => boolean): number[] {
    const found: number[] = []
    for (const datasource of this.datasourceList) {
      if (datasource.toCover.length === 0) continue
      const touched = new IntervalUnion(datasource.toCover)
      datasource.toCover = []
      if (datasource.hiddenCount === 0) continue
      const judged = this.overlapping(datasource, touched).filter((group) => this.hiddenOf[group] === 1)
      const around = new IntervalUnion(judged.map((group) => this.interval(group)))
      const hiding = this.overlapping(datasource, around).flatMap((group) =>
        this.timelineGroupOf(group, (row) => hides(row, group)),
      )
      // A group can be in both lists, because overshadowed groups can also cover each other.
      const judgedGroups = judged.map((group) => ({
        ...this.timelineGroup(group),
        isAsked: true,
        complete: false,
      }))
      const covered = new Set(
        coveredGroups([...hiding, ...judgedGroups])
          .filter((one) => 'isAsked' in one)
          .map(({ group }) => group),
      )
      for (const group of judged) {
        if (!covered.has(group)) continue
        found.push(group)
        this.note(datasource.toCover, group)
      }
    }
    return found
  }

  private interval(group: number): Interval {
    return { start: this.startOf[group]!, end: this.endOf[group]! }
  }

  private overlapping({ groups, groupCount }: Datasource, touched: IntervalUnion): number[] {
    const { startOf, endOf } = this
    const found: number[] = []
    for (let at = 0; at < groupCount; at += 1) {
      const group = groups[at]!
      if (touched.overlaps(startOf[group]!, endOf[group]!)) found.push(group)
    }
    return found
  }

  /** Returns the overshadowed groups. Skips the many groups that do not overlap any other. */
  private hiddenAmong(groups: readonly number[]): Set<number> {
    const starts = Float64Array.from(groups, (group) => this.startOf[group]!).sort()
    const ends = Float64Array.from(groups, (group) => this.endOf[group]!).sort()
    const meeting = groups.filter(
      (group) => countBelow(starts, this.endOf[group]!) - countUpTo(ends, this.startOf[group]!) > 1,
    )
    if (meeting.length === 0) return new Set()
    return new Set(coveredGroups(meeting.map((group) => this.timelineGroup(group))).map(({ group }) => group))
  }

  private timelineGroup(group: number): TimelineGroup & { readonly group: number } {
    return this.timelineGroupOf(group, () => true)[0]!
  }

  /**
   * Returns the group for the timeline with only the segments for which `isThere` is true, or none if there are none.
   */
  private timelineGroupOf(
    group: number,
    isThere: (row: number) => boolean,
  ): (TimelineGroup & { readonly group: number })[] {
    let coreSize = 0
    let count = 0
    for (let row = this.firstRowOf[group]!; row >= 0; row = this.nextInGroup[row]!) {
      if (!isThere(row)) continue
      count += 1
      coreSize = Math.max(coreSize, this.partitionsOf[row]!)
    }
    if (count === 0) return []
    const present = new Set<number>()
    if (coreSize > 0 && count >= coreSize) {
      for (let row = this.firstRowOf[group]!; row >= 0; row = this.nextInGroup[row]!)
        if (this.partitionNumOf[row]! < coreSize && isThere(row)) present.add(this.partitionNumOf[row]!)
    }
    return [
      {
        group,
        interval: this.interval(group),
        version: this.versionOf[group]!,
        complete: present.size === coreSize,
      },
    ]
  }

  private noteVisibility({ number }: Datasource, group: number): void {
    const { journal } = this
    const change = this.hiddenOf[group] === 1 ? 'overshadowed' : 'visibleAgain'
    if (journal !== undefined) this.forEachRow(group, (row) => journal.note(change, number, row))
  }

  private noteChanged(datasource: Datasource, group: number): void {
    datasource.changes += 1
    this.note(datasource.changed, group)
  }

  private note(intervals: Interval[], group: number): void {
    if (intervals.length > maxIntervals) {
      intervals.length = 0
      intervals.push(everything)
    }
    if (intervals[0] === everything) return
    const start = this.startOf[group]!
    const end = this.endOf[group]!
    const last = intervals.at(-1)
    if (last === undefined || last.start !== start || last.end !== end) intervals.push({ start, end })
  }

  /** Adds a row for an ID with this hash. The caller must make sure that `idOf` returns the ID. */
  private addRow(hash: number): number {
    const row = this.freeRows.pop() ?? this.rowLimit
    if (row === this.rowLimit) {
      this.rowLimit += 1
      this.groupOf = grown(this.groupOf, this.rowLimit)
      this.partitionNumOf = grown(this.partitionNumOf, this.rowLimit)
      this.partitionsOf = grown(this.partitionsOf, this.rowLimit)
      this.sizeOf = grown(this.sizeOf, this.rowLimit)
      this.totalRowsOf = grown(this.totalRowsOf, this.rowLimit)
      this.markedOf = grown(this.markedOf, this.rowLimit)
      this.nextInGroup = grown(this.nextInGroup, this.rowLimit)
      this.previousInGroup = grown(this.previousInGroup, this.rowLimit)
    }
    this.groupOf[row] = -1
    this.copies.addRow(row)
    this.rowsById.add(hash, row)
    return row
  }

  private freeIfIdle(row: number): void {
    if (this.groupOf[row] !== -1 || this.copies.firstOf[row] !== -1) return
    this.rowsById.remove(row)
    this.texts.delete(row)
    this.groupOf[row] = -2
    this.markedOf[row] = 0
    this.freeRows.push(row)
  }

  private groupFor({ dataSource, start, end, version }: NewSegment): number {
    let datasource = this.datasourcesByName.get(dataSource)
    if (datasource === undefined) {
      const number = this.datasourceList.length
      const groups = new Int32Array(0)
      datasource = {
        name: dataSource,
        number,
        groups,
        groupCount: 0,
        usedCount: 0,
        hiddenCount: 0,
        changes: 0,
        changed: [],
        toCover: [],
      }
      this.datasourceList.push(datasource)
      this.names.push(dataSource)
      this.datasourcesByName.set(dataSource, datasource)
    }
    const { number } = datasource
    const hash = hashText(version, hashNumber(start, hashNumber(end, number)))
    const known = this.groupsByKey.find(
      hash,
      (group) =>
        this.startOf[group] === start &&
        this.endOf[group] === end &&
        this.datasourceOf[group] === number &&
        this.versionOf[group] === version,
    )
    if (known >= 0) return known
    const group = this.freeGroups.pop() ?? this.groupLimit
    if (group === this.groupLimit) {
      this.groupLimit += 1
      this.datasourceOf = grown(this.datasourceOf, this.groupLimit)
      this.startOf = grown(this.startOf, this.groupLimit)
      this.endOf = grown(this.endOf, this.groupLimit)
      this.hiddenOf = grown(this.hiddenOf, this.groupLimit)
      this.memberCountOf = grown(this.memberCountOf, this.groupLimit)
      this.ruleOf = grown(this.ruleOf, this.groupLimit)
      this.firstRowOf = grown(this.firstRowOf, this.groupLimit)
      this.placeOf = grown(this.placeOf, this.groupLimit)
    }
    this.datasourceOf[group] = number
    this.startOf[group] = start
    this.endOf[group] = end
    this.versionOf[group] = version
    this.hiddenOf[group] = 0
    this.memberCountOf[group] = 0
    this.ruleOf[group] = -1
    this.firstRowOf[group] = -1
    datasource.groups = grown(datasource.groups, datasource.groupCount + 1)
    datasource.groups[datasource.groupCount] = group
    this.placeOf[group] = datasource.groupCount
    datasource.groupCount += 1
    this.groupsByKey.add(hash, group)
    return group
  }

  private removeGroup(datasource: Datasource, group: number): void {
    this.groupsByKey.remove(group)
    const last = datasource.groups[datasource.groupCount - 1]!
    const place = this.placeOf[group]!
    datasource.groups[place] = last
    this.placeOf[last] = place
    datasource.groupCount -= 1
    this.datasourceOf[group] = -1
    this.firstRowOf[group] = -1
    this.memberCountOf[group] = 0
    this.freeGroups.push(group)
  }
}

/**
 * All used segments, plus unused segments that a server still holds, loads, or drops. A segment is a row, identified by
 * a small integer. Segments of one interval and version form a group: the same rule applies to them, and they are
 * visible or overshadowed together. Rows whose replicas, rule, or visibility changed are marked, so that a run checks
 * only those. Types alone keep others from writing the columns, because the innermost loops read them.
 */
export type SegmentTable = ReadonlyColumns<Omit<WritableSegmentTable, 'copies'>> & {
  readonly copies: ReadonlyColumns<Omit<CopyTable, 'addRow' | 'change'>>
}

export const SegmentTable: new () => SegmentTable = WritableSegmentTable

/** Returns 1 if a load is queued, and otherwise 0. */
const queuedLoadsIn = (flags: number): 0 | 1 => ((flags & pendingFlags) === copyFlag.loading ? 1 : 0)

const everything: Interval = { start: -Infinity, end: Infinity }

/** Returns how many of the sorted values are less than `value`. */
function countBelow(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns how many of the sorted values are less than or equal to `value`. */
function countUpTo(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! <= value) low = middle + 1
    else high = middle
  }
  return low
}
