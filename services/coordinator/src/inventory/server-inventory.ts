import type { FailedLoadState, FailedLoads } from '@svc/domain/explanation'
import { copyFlag, pendingFlags, SegmentTable } from '@svc/domain/inventory'
import {
  type LoadingServer,
  placeholdersOf,
  type ServerClone,
  type UnreportedServer,
} from '@svc/domain/loading'
import type { ServerParts } from '@svc/shared/coordinator-dynamic-config'
import type { AwaitedServer, ReportAnswer, RequestFailure, ServerReport } from '@svc/shared/segment-serving'
import { PendingView, ServedIds } from './copy-views.ts'
import { type FailedRequest, FailedRequests } from './failed-requests.ts'
import type { PendingRequest } from './pending-request.ts'
import { type ClaimedList, StandbyLists } from './standby-lists.ts'

/** The state of a data server according to its reports to the leader. */
export interface ServerState {
  /** Number of the server in the segment table. */
  readonly number: number
  readonly name: string
  readonly process: string
  readonly type: 'historical' | 'broker'
  readonly tier: string
  readonly priority: number
  readonly maxSizeBytes: number
  readonly usedSizeBytes: number
  readonly session: string
  /** Number of known changes. */
  readonly sequence: number
  readonly lastReportAtMs: number
  readonly served: ServedIds
  readonly pending: PendingView
  /** Failed requests by segment ID. */
  readonly failed: Iterable<readonly [id: string, request: FailedRequest]>
}

/** A server that stopped reporting. */
export type LostServerState = Pick<ServerState, 'name' | 'process' | 'type' | 'tier' | 'lastReportAtMs'>

interface MutableServer extends ServerState {
  readonly failed: FailedRequests
  /** Requests that seem to be done already. The next report completes them. */
  readonly doubtful: Set<string>
  /** The server must ignore requests sent until this time, which may be lost. They are forgotten once it confirms. */
  voidUntilMs: number | undefined
}

/** Unanswered loads and drops of a server. */
export interface QueueSize {
  readonly loads: number
  readonly loadSizeBytes: number
  readonly drops: number
  /** When the oldest load was sent; Infinity if there is none. */
  readonly oldestLoadAtMs: number
}

/** What a server did with a replica: loaded a missing one, moved it from another server, or dropped it. */
type CopyChange = 'loaded' | 'moved' | 'dropped'

/** A segment of which a server has loaded or dropped a replica. */
export interface ChangedCopy {
  readonly id: string
  /** Its row in the table, or -1. */
  readonly row: number
  /** When the leader requested this, in milliseconds of the clock of its reports; undefined if it did not. */
  readonly sentAtMs?: number | undefined
}

/** Listeners for what servers report. */
export interface ServerInventoryEvents {
  onFailure?(server: ServerState, failure: RequestFailure): void
  onCopyChange?(server: ServerState, segment: ChangedCopy, change: CopyChange): void
  /** A server has completed or failed a request, which was sent at that time of the clock of the reports. */
  onAnswer?(sentAtMs: number, isFailed: boolean): void
}

/** Sorts historicals before brokers, then by name. */
function inOrder(a: ServerState, b: ServerState): number {
  if (a.type !== b.type) return a.type === 'historical' ? -1 : 1
  return a.name < b.name ? -1 : 1
}

// Maximum number of servers to remember after they stopped reporting.
const maxLost = 1000

const noParts: ServerParts = { leaving: new Set(), clones: new Map() }

const { served, loading, dropping, refused, moving, leaving, listed } = copyFlag
const requestFlags = pendingFlags | moving

/** The data servers that report to the leader, with the segments that they serve and their pending requests. */
export class ServerInventory {
  /** The table that records which server has which segment. */
  readonly table: SegmentTable
  private readonly byName = new Map<string, MutableServer>()
  private readonly byNumber: (MutableServer | undefined)[] = []
  private readonly freeNumbers: number[] = []
  /** Numbers of removed servers. They become free at the next run, because the current run still uses them. */
  private readonly retired: number[] = []
  private nextNumber = 0
  private reportedChanges = 0
  /** Historicals that their process announced but that have not reported their segments yet, by process. */
  private readonly awaitedOf = new Map<string, { list: readonly AwaitedServer[]; readonly atMs: number }>()
  /** Servers that stopped reporting, the last ones. */
  private readonly lostByName = new Map<string, LostServerState>()
  /**
   * Requests to forgotten servers, which may still execute what was sent up to this time. When such a server returns, its reports
   * count only once it confirms that it ignores them.
   */
  private readonly revokedByName = new Map<string, { readonly session: string; readonly untilMs: number }>()
  private readonly standbyLists: StandbyLists
  private readonly silenceMs: number
  private readonly events: ServerInventoryEvents

  /** The inventory forgets a server after `silenceMs` milliseconds without a report. */
  constructor(silenceMs: number, events: ServerInventoryEvents = {}, table = new SegmentTable()) {
    this.silenceMs = silenceMs
    this.events = events
    this.table = table
    this.standbyLists = new StandbyLists(table)
  }

  /**
   * Applies reports to this coordinator while it is not the leader. They count once it is the leader and their servers have
   * confirmed them. Returns which servers must send their complete list.
   */
  takeAsStandby(reports: readonly ServerReport[], nowMs: number): string[] {
    const taken = (report: ServerReport) =>
      this.standbyLists.take(report, nowMs, () => this.byName.get(report.name)?.number ?? this.newNumber())
    return reports.filter((report) => !taken(report)).map(({ name }) => name)
  }

  /** Forgets what servers reported to this coordinator as a standby if they stopped reporting to it. */
  expireAsStandby(nowMs: number): void {
    this.release(this.standbyLists.forget(nowMs))
  }

  /**
   * Applies the reports of one process, which has `awaited` more historicals. Returns which servers must send their complete
   * list.
   */
  take(
    reports: readonly ServerReport[],
    term: number,
    nowMs: number,
    awaited: readonly AwaitedServer[] = [],
  ): ReportAnswer {
    // A server that does not know this leader may still execute requests of an earlier leader. Its list is reliable only
    // once it knows this term.
    const taken = (report: ServerReport) =>
      report.term === term && this.hasConfirmed(report) && this.takeOne(report, nowMs)
    const refused = reports.filter((report) => !taken(report))
    const resync = refused.map(({ name }) => name)
    for (const { process } of reports) this.awaitedOf.delete(process)
    const isHistorical = ({ type }: ServerReport) => type === 'historical'
    const byProcess = Map.groupBy([...awaited, ...refused.filter(isHistorical)], ({ process }) => process)
    for (const [process, list] of byProcess) this.awaitedOf.set(process, { list, atMs: nowMs })
    const voids = reports.flatMap(({ name }) => {
      const untilMs = this.byName.get(name)?.voidUntilMs ?? this.revokedByName.get(name)?.untilMs
      return untilMs === undefined ? [] : [[name, untilMs] as const]
    })
    const resyncFrom = refused.flatMap((report) => {
      const sequence = this.sequenceOf(report)
      return sequence === undefined ? [] : [[report.name, sequence] as const]
    })
    return {
      term,
      resync,
      ...(resyncFrom.length === 0 ? {} : { resyncFrom: Object.fromEntries(resyncFrom) }),
      voidUntilMs: Object.fromEntries(voids),
    }
  }

  /** Returns the historicals that their processes announced but that have never reported their segments. */
  awaited(): readonly AwaitedServer[] {
    return [...this.awaitedOf.values()].flatMap(({ list }) =>
      list.filter(({ name }) => !this.byName.has(name)),
    )
  }

  /** Forgets servers that their process reported as gone. */
  forgetGone(names: readonly string[]): void {
    if (names.length === 0) return
    const gone = new Set(names)
    this.retired.push(...this.remove([...gone].flatMap((name) => this.byName.get(name) ?? [])))
    for (const awaited of this.awaitedOf.values())
      awaited.list = awaited.list.filter(({ name }) => !gone.has(name))
  }

  /** Returns the number of changes of this session of a server that this coordinator knows, if any. */
  private sequenceOf(report: Pick<ServerReport, 'name' | 'session'>): number | undefined {
    const known = this.byName.get(report.name)
    if (known === undefined) return this.standbyLists.sequenceOf(report)
    return known.session === report.session ? known.sequence : undefined
  }

  private newNumber(): number {
    return this.freeNumbers.pop() ?? this.nextNumber++
  }

  /** Frees the numbers of servers that are no longer known. */
  private release(numbers: Iterable<number>): void {
    for (const number of numbers) if (this.byNumber[number] === undefined) this.freeNumbers.push(number)
  }

  /** Whether a server that had been forgotten ignores the requests that it was sent before. */
  private hasConfirmed({ name, session, voidUntilMs }: ServerReport): boolean {
    const revoked = this.revokedByName.get(name)
    if (revoked?.session === session && voidUntilMs < revoked.untilMs) return false
    this.revokedByName.delete(name)
    return true
  }

  private takeOne(report: ServerReport, nowMs: number): boolean {
    const known = this.byName.get(report.name)
    if (report.segments === null && this.sequenceOf(report) !== report.from) return false
    const sameLife = known?.session === report.session
    const list = this.standbyLists.claim(report)
    const number = known?.number ?? list?.number ?? this.newNumber()
    // A restarted process knows nothing about requests from before the restart.
    if (known && !sameLife) this.table.clearServers(new Set([number]), requestFlags | refused | leaving)
    const server: MutableServer = {
      number,
      name: report.name,
      process: report.process,
      type: report.type,
      tier: report.tier,
      priority: report.priority,
      maxSizeBytes: report.maxSizeBytes,
      usedSizeBytes: report.usedSizeBytes,
      session: report.session,
      sequence: report.to,
      lastReportAtMs: nowMs,
      served: known?.served ?? new ServedIds(this.table, number),
      pending: known?.pending ?? new PendingView(this.table, number),
      failed: sameLife ? known.failed : new FailedRequests(),
      doubtful: sameLife ? known.doubtful : new Set(),
      voidUntilMs: sameLife ? known.voidUntilMs : undefined,
    }
    this.byName.set(report.name, server)
    this.lostByName.delete(report.name)
    this.byNumber[number] = server
    if (list) this.takeStandbyList(server, list)
    if (report.segments) this.takeList(server, report.segments, known !== undefined)
    for (const { id, change } of report.changes) {
      const row = this.table.rowOf(id)
      // What a server did before its first report to this leader was requested by an earlier one.
      if (known) this.reportCopyChange(server, { id, row }, change)
      if (change === 'loaded') this.noteServed(server, id, row)
      else this.noteGone(server, id, row)
    }
    this.settle(server, report.failures, nowMs)
    this.forgetVoid(server, report.voidUntilMs)
    return true
  }

  /** Notifies listeners about a change before it is applied, unless it is known already. Some reports arrive twice. */
  private reportCopyChange(
    server: MutableServer,
    segment: { readonly id: string; readonly row: number },
    change: 'loaded' | 'dropped',
  ): void {
    const { row } = segment
    const flags = row < 0 ? 0 : this.table.copies.flags(row, server.number)
    const wasServed = (flags & served) !== 0
    if (wasServed === (change === 'loaded')) return
    const isMove = change === 'loaded' && (flags & moving) !== 0
    const { copies } = this.table
    const sentAtMs =
      (flags & pendingFlags) === 0 ? undefined : copies.sentAtOf[copies.find(row, server.number)]
    this.events.onCopyChange?.(server, { ...segment, sentAtMs }, isMove ? 'moved' : change)
  }

  private takeList(server: MutableServer, ids: readonly string[], isKnown: boolean): void {
    if (isKnown) {
      const listed = new Set(ids)
      for (const id of [...server.served]) if (!listed.has(id)) this.noteGone(server, id)
    }
    for (const id of ids) this.noteServed(server, id)
  }

  /** The segments of a confirmed list count from now on. */
  private takeStandbyList({ number }: MutableServer, { rows, continues }: ClaimedList): void {
    if (continues) this.reportedChanges += rows.length
    for (const row of rows) this.table.changeRow(row, number, continues ? served : 0, listed)
  }

  /** A number that changes whenever a server reports that it has or no longer has a segment. */
  get changes(): number {
    return this.reportedChanges
  }

  private noteServed(server: MutableServer, id: string, row = this.table.rowOf(id)): void {
    this.reportedChanges += 1
    this.noteAnswer(server, row, loading, false)
    this.table.changeCopy(id, server.number, served, loading | moving | refused, row)
    server.failed.delete(id)
  }

  private noteGone(server: MutableServer, id: string, row = this.table.rowOf(id)): void {
    this.reportedChanges += 1
    this.noteAnswer(server, row, dropping, false)
    this.table.changeCopy(id, server.number, 0, served | dropping | leaving, row)
  }

  /** Reports the answer to a pending request before its flag is cleared. */
  private noteAnswer({ number }: MutableServer, row: number, flag: number, isFailed: boolean): void {
    if (row < 0 || this.events.onAnswer === undefined) return
    const { copies } = this.table
    const entry = copies.find(row, number)
    if (entry < 0 || (copies.flagsOf[entry]! & flag) === 0) return
    this.events.onAnswer(copies.sentAtOf[entry]!, isFailed)
  }

  /** Removes the pending requests that the report answers, in addition to those that its changes answered. */
  private settle(server: MutableServer, failures: readonly RequestFailure[], nowMs: number): void {
    const { table } = this
    for (const failure of failures) {
      const flag = failure.action === 'load' ? loading : dropping
      const row = table.rowOf(failure.id)
      if (row < 0 || (table.copies.flags(row, server.number) & flag) === 0) continue
      this.noteAnswer(server, row, flag, true)
      server.failed.addFailure(failure.id, failure.message, nowMs)
      table.changeRow(row, server.number, refused, flag | moving)
      this.events.onFailure?.(server, failure)
    }
    for (const id of server.doubtful) {
      const row = table.rowOf(id)
      const flags = row < 0 ? 0 : table.copies.flags(row, server.number)
      if ((flags & loading) !== 0 && (flags & served) !== 0) this.noteServed(server, id)
      if ((flags & dropping) === 0 || (flags & served) !== 0) continue
      this.noteAnswer(server, row, dropping, false)
      table.changeRow(row, server.number, 0, dropping)
    }
    server.doubtful.clear()
  }

  /** Records requests that are about to be sent. Returns how many of them repeat requests that a server failed. */
  note(name: string, requests: ReadonlyMap<string, PendingRequest>): number {
    const server = this.byName.get(name)
    if (!server) return 0
    const { table } = this
    let retried = 0
    for (const [id, { action, sizeBytes, sentAtMs, replaces }] of requests) {
      const isLoad = action === 'load'
      const entry = table.changeCopy(
        id,
        server.number,
        isLoad ? (replaces === undefined ? loading : loading | moving) : dropping,
        isLoad ? dropping : loading | moving,
      )
      table.noteSent(entry, sentAtMs)
      const row = table.copies.rowOf[entry] as number
      const replaced = replaces === undefined ? undefined : this.byName.get(replaces)
      if (replaced && (table.copies.flags(row, replaced.number) & served) !== 0)
        table.changeRow(row, replaced.number, leaving, 0)
      if (server.failed.get(id) !== undefined || (isLoad && this.isRefused(row))) retried += 1
      if (isLoad) table.noteSize(row, sizeBytes)
      if ((((table.copies.flagsOf[entry] as number) & served) !== 0) === isLoad) server.doubtful.add(id)
    }
    return retried
  }

  /** Whether a server recently failed a request about a segment. */
  private isRefused(row: number): boolean {
    const { copies } = this.table
    for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!)
      if ((copies.flagsOf[entry]! & refused) !== 0) return true
    return false
  }

  /**
   * Voids all pending requests after the queues were lost. Servers may still execute requests that they had already taken,
   * so a request is forgotten, and can be sent again, only once its server confirms that it will not execute it. Returns the
   * number of pending requests.
   */
  voidPending(): number {
    for (const name of this.byName.keys()) this.voidPendingOf(name)
    return this.table.copies.pendingCount
  }

  /** Voids all pending requests of one server, which may or may not receive them. */
  voidPendingOf(name: string): void {
    const server = this.byName.get(name)
    if (server) server.voidUntilMs = performance.now()
  }

  /**
   * Forgets servers that stopped reporting and voids requests that timed out. Returns the names of the forgotten servers.
   * With `triesOthers`, the leader does not request a load again for a while from a server that did not answer it, so that another
   * server gets it.
   */
  expire(nowMs: number, requestTimeoutMs: number, triesOthers = false): string[] {
    // The leader has waited for the servers. The others must send their full lists.
    const unconfirmed = [...this.standbyLists.forget()].filter(
      (number) => this.byNumber[number] === undefined,
    )
    // A server that is gone may have both.
    this.freeNumbers.push(...new Set([...this.retired.splice(0), ...unconfirmed]))
    for (const [process, { atMs }] of this.awaitedOf)
      if (nowMs - atMs > this.silenceMs) this.awaitedOf.delete(process)
    const silent = [...this.byName.values()].filter(
      ({ lastReportAtMs }) => nowMs - lastReportAtMs > this.silenceMs,
    )
    this.freeNumbers.push(...this.remove(silent))
    for (const { name, process, type, tier, lastReportAtMs } of silent)
      this.lostByName.set(name, { name, process, type, tier, lastReportAtMs })
    for (const name of [...this.lostByName.keys()].slice(0, -maxLost)) this.lostByName.delete(name)
    for (const { failed } of this.byName.values()) failed.deleteOld(nowMs)
    const { copies } = this.table
    copies.forEachPending((entry) => {
      if (nowMs - (copies.sentAtOf[entry] as number) <= requestTimeoutMs) return
      const server = this.byNumber[copies.serverOf[entry] as number]
      if (!server) return
      if (triesOthers && ((copies.flagsOf[entry] as number) & loading) !== 0)
        server.failed.addUnanswered(this.table.idOf(copies.rowOf[entry] as number), nowMs)
      server.voidUntilMs = Math.max(server.voidUntilMs ?? 0, copies.sentAtOf[entry] as number)
    })
    return silent.map(({ name }) => name)
  }

  /**
   * Forgets all servers. A new leader must do this. Each server then reports its complete list again, or confirms what it
   * reported to this coordinator as a standby.
   */
  reset(): void {
    const { copies } = this.table
    // A run of an earlier term may have checked segments without executing its decisions.
    this.table.markAll()
    for (let entry = 0; entry < copies.limit; entry++) {
      const server = copies.serverOf[entry] as number
      if (server !== -1) this.table.changeRow(copies.rowOf[entry] as number, server, 0, 255 & ~listed)
    }
    this.byName.clear()
    this.lostByName.clear()
    this.revokedByName.clear()
    this.awaitedOf.clear()
    this.byNumber.length = 0
    this.freeNumbers.length = 0
    this.retired.length = 0
    const taken = this.standbyLists.numbers
    for (let number = this.nextNumber - 1; number >= 0; number--)
      if (!taken.has(number)) this.freeNumbers.push(number)
  }

  /** Returns the reporting servers, historicals before brokers, sorted by name. */
  servers(): readonly ServerState[] {
    return [...this.byName.values()].sort(inOrder)
  }

  /** Returns the names of the processes of the reporting servers. Takes less time than to sort the servers. */
  processes(): Set<string> {
    const names = new Set<string>()
    for (const { process } of this.byName.values()) names.add(process)
    return names
  }

  /** Returns the servers that stopped reporting to this leader and have not reported again. */
  lost(): readonly LostServerState[] {
    return [...this.lostByName.values()]
  }

  get(name: string): ServerState | undefined {
    return this.byName.get(name)
  }

  /** Returns the servers that serve a segment, historicals before brokers, sorted by name. */
  holdersOf(row: number): readonly ServerState[] {
    const { copies } = this.table
    const holders: ServerState[] = []
    for (let entry = copies.firstOf[row] ?? -1; entry >= 0; entry = copies.nextOf[entry] as number) {
      if (((copies.flagsOf[entry] as number) & served) === 0) continue
      const server = this.byNumber[copies.serverOf[entry] as number]
      if (server) holders.push(server)
    }
    return holders.sort(inOrder)
  }

  /**
   * Returns the unanswered requests of each server, by server number. `isCounted` returns whether to count those for a segment, given
   * by row.
   */
  queues(isCounted: (row: number) => boolean = () => true): ReadonlyMap<number, QueueSize> {
    const { loads, loadSizeBytes, drops, oldestLoadAtMs } = this.queueColumns(isCounted)
    return new Map(
      [...this.byName.values()].map(({ number }) => [
        number,
        {
          loads: loads[number] as number,
          loadSizeBytes: loadSizeBytes[number] as number,
          drops: drops[number] as number,
          oldestLoadAtMs: oldestLoadAtMs[number] as number,
        },
      ]),
    )
  }

  /**
   * Returns the servers that recently failed to load segments that are still missing, with the number of these segments
   * and the last error. `stateOf` returns what becomes of the failed load of a segment on a server, given by number. Only segments
   * for which `isShown` returns true count.
   */
  failedLoads(
    isShown: (id: string) => boolean,
    stateOf: (id: string, server: number) => FailedLoadState = () => 'retryable',
  ): (FailedLoads & { readonly name: string })[] {
    return [...this.byName.values()].sort(inOrder).flatMap(({ name, number, failed: all }) => {
      let retryable = 0
      const failed = [...all].filter(([id]) => {
        if (!isShown(id)) return false
        const state = stateOf(id, number)
        if (state === 'retryable') retryable += 1
        return state !== 'obsolete'
      })
      if (failed.length === 0) return []
      let latest: FailedRequest | undefined
      for (const [, request] of failed)
        if (latest === undefined || request.atMs >= latest.atMs) latest = request
      return [{ name, count: failed.length, retryable, lastError: latest?.message }]
    })
  }

  /** Returns the last failure of a server, given by number, to load or drop a segment, given by row, until a request succeeds. */
  failureOf(server: number, row: number): FailedRequest | undefined {
    const failed = this.byNumber[server]?.failed
    // Most servers have none, and creating the ID of a segment takes longer than everything else here.
    return failed === undefined || failed.size === 0 ? undefined : failed.get(this.table.idOf(row))
  }

  /** Returns the servers for planning, without clones. Servers that are leaving are marked as decommissioning. */
  loadingServers(nowMs: number, { leaving, clones }: ServerParts = noParts): LoadingServer[] {
    return this.describe(nowMs, leaving).filter(({ name }) => !clones.has(name))
  }

  /** Returns placeholders for servers whose segments are not known yet. */
  unreportedServers(unreported: readonly UnreportedServer[]): LoadingServer[] {
    return placeholdersOf(unreported, () => {
      const number = this.newNumber()
      this.retired.push(number)
      return number
    })
  }

  /** Returns the clones that report, each with its source server. */
  clones(nowMs: number, { leaving, clones }: ServerParts): ServerClone[] {
    if (clones.size === 0) return []
    return this.describe(nowMs, leaving).flatMap((target) => {
      const source = clones.get(target.name)
      return source === undefined ? [] : [{ target, source: this.byName.get(source)?.number }]
    })
  }

  private describe(nowMs: number, leaving: ReadonlySet<string>): LoadingServer[] {
    return [...this.byName.values()].map((server) => {
      this.applyFailures(server, nowMs)
      const { number, name, type, tier, maxSizeBytes, usedSizeBytes } = server
      return {
        number,
        name,
        type,
        tier,
        maxSizeBytes,
        usedSizeBytes,
        loadingSizeBytes: this.table.queuedLoadBytesOf(number),
        queuedLoads: this.table.queuedLoadsOf(number),
        decommissioning: leaving.has(name),
      }
    })
  }

  /** Returns the unanswered requests of the servers in columns by server number, because there may be millions of requests. */
  private queueColumns(isCounted: (row: number) => boolean) {
    const { copies, sizeOf } = this.table
    const loads = new Int32Array(this.nextNumber)
    const loadSizeBytes = new Float64Array(this.nextNumber)
    const drops = new Int32Array(this.nextNumber)
    const oldestLoadAtMs = new Float64Array(this.nextNumber).fill(Number.POSITIVE_INFINITY)
    copies.forEachPending((entry) => {
      const row = copies.rowOf[entry] as number
      if (!isCounted(row)) return
      const server = copies.serverOf[entry] as number
      if (((copies.flagsOf[entry] as number) & dropping) !== 0) {
        drops[server] = (drops[server] as number) + 1
        return
      }
      loads[server] = (loads[server] as number) + 1
      loadSizeBytes[server] = (loadSizeBytes[server] as number) + (sizeOf[row] as number)
      const sentAtMs = copies.sentAtOf[entry] as number
      oldestLoadAtMs[server] = Math.min(oldestLoadAtMs[server] as number, sentAtMs)
    })
    return { loads, loadSizeBytes, drops, oldestLoadAtMs }
  }

  /**
   * Marks segments that a server recently failed to load, so that they are not requested again for a while. Planning treats
   * such a server as if it were dropping the segment.
   */
  private applyFailures(server: MutableServer, nowMs: number): void {
    if (server.failed.size === 0) return
    for (const [id, { retryAtMs }] of server.failed) {
      if (nowMs < retryAtMs) this.table.changeCopy(id, server.number, refused, 0)
      else this.table.changeCopy(id, server.number, 0, refused)
    }
  }

  /** Forgets servers with their segments and requests. Returns their numbers. */
  private remove(servers: readonly MutableServer[]): readonly number[] {
    for (const { name, number, session, pending, voidUntilMs = 0 } of servers) {
      let untilMs = voidUntilMs
      for (const [, { sentAtMs }] of pending) untilMs = Math.max(untilMs, sentAtMs)
      if (untilMs > 0) this.revokedByName.set(name, { session, untilMs })
      this.byName.delete(name)
      this.byNumber[number] = undefined
    }
    const numbers = servers.map(({ number }) => number)
    if (numbers.length > 0) this.table.clearServers(new Set(numbers))
    return numbers
  }

  /** Forgets void requests once the server confirms that it ignores everything sent until then. */
  private forgetVoid(server: MutableServer, confirmedUntilMs: number): void {
    const { voidUntilMs, number, pending } = server
    if (voidUntilMs === undefined || confirmedUntilMs < voidUntilMs) return
    for (const [id, { sentAtMs }] of [...pending])
      if (sentAtMs <= voidUntilMs) this.table.changeCopy(id, number, 0, requestFlags)
    server.voidUntilMs = undefined
  }
}
