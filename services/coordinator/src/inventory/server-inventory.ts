import type { LoadingServer } from '@svc/domain/loading'
import type { ReportAnswer, RequestFailure, ServerReport } from '@svc/shared/data-server'

/** A request that was sent to a server and is not answered yet. */
export interface PendingRequest {
  readonly action: 'load' | 'drop'
  readonly sizeBytes: number
  /** Milliseconds of the process's own clock. */
  readonly sentAtMs: number
}

/** A data server as the leader knows it from its reports. */
export interface ServerState {
  readonly name: string
  readonly process: string
  readonly type: 'historical' | 'broker'
  readonly tier: string
  readonly priority: number
  readonly maxSizeBytes: number
  readonly usedSizeBytes: number
  readonly session: string
  /** The number of changes known. */
  readonly sequence: number
  readonly lastReportAtMs: number
  readonly served: ReadonlySet<string>
  readonly pending: ReadonlyMap<string, PendingRequest>
}

interface MutableServer extends Omit<ServerState, 'served' | 'pending'> {
  readonly served: Set<string>
  readonly pending: Map<string, PendingRequest>
  /** Segments that the server failed to load, with the time until which it is not asked again. */
  readonly refused: Map<string, { readonly untilMs: number; readonly waitMs: number }>
  /** When the queues were lost; undefined once that has been dealt with. */
  lostAtMs: number | undefined
}

/** What the leader tells of a failure that a server reported. */
export type OnRequestFailure = (server: string, failure: RequestFailure) => void

// How long a server is left alone with a segment that it failed to load: doubled with every failure.
const firstRefusalMs = 5000
const longestRefusalMs = 300_000

/** The data servers that report to the leader: what they serve, and what they were asked to do. */
export class ServerInventory {
  private readonly byName = new Map<string, MutableServer>()
  private readonly silenceMs: number
  private readonly onFailure: OnRequestFailure

  /** A server is forgotten after `silenceMs` without a report. */
  constructor(silenceMs: number, onFailure: OnRequestFailure) {
    this.silenceMs = silenceMs
    this.onFailure = onFailure
  }

  /** Takes in the reports of one process; answers which servers must send their whole list. */
  take(reports: readonly ServerReport[], term: number, nowMs: number): ReportAnswer {
    // A server that has not heard of this leader may still do what an earlier one asked: only from when it knows
    // this term does its list stay true.
    const taken = (report: ServerReport) => report.term === term && this.takeOne(report, nowMs)
    const resync = reports.filter((report) => !taken(report)).map(({ name }) => name)
    return { term, resync }
  }

  private takeOne(report: ServerReport, nowMs: number): boolean {
    const known = this.byName.get(report.name)
    const follows = known?.session === report.session && known.sequence === report.from
    if (report.segments === null && !follows) return false
    // Another life of the process knows nothing of what its former self was asked.
    const sameLife = known?.session === report.session
    const server: MutableServer = {
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
      served: report.segments ? new Set(report.segments) : (known as MutableServer).served,
      pending: sameLife ? known.pending : new Map(),
      refused: sameLife ? known.refused : new Map(),
      lostAtMs: sameLife ? known.lostAtMs : undefined,
    }
    for (const { id, change } of report.changes) {
      if (change === 'loaded') server.served.add(id)
      else server.served.delete(id)
    }
    this.settle(server, report.failures, nowMs)
    if (report.underWay === 0) forgetLost(server)
    this.byName.set(report.name, server)
    return true
  }

  /** Takes away the pending requests that the report answers. */
  private settle(server: MutableServer, failures: readonly RequestFailure[], nowMs: number): void {
    for (const failure of failures) {
      if (server.pending.get(failure.id)?.action !== failure.action) continue
      server.pending.delete(failure.id)
      const waitMs = Math.min(
        (server.refused.get(failure.id)?.waitMs ?? firstRefusalMs / 2) * 2,
        longestRefusalMs,
      )
      server.refused.set(failure.id, { untilMs: nowMs + waitMs, waitMs })
      this.onFailure(server.name, failure)
    }
    for (const [id, { action }] of server.pending) {
      if (server.served.has(id) !== (action === 'load')) continue
      server.pending.delete(id)
      server.refused.delete(id)
    }
  }

  /** Notes requests that are about to be sent. */
  note(name: string, requests: ReadonlyMap<string, PendingRequest>): void {
    const server = this.byName.get(name)
    if (server) for (const [id, request] of requests) server.pending.set(id, request)
  }

  /** Forgets requests that could not be sent, or are wanted no more. */
  forget(name: string, ids: Iterable<string>): void {
    const server = this.byName.get(name)
    if (server) for (const id of ids) server.pending.delete(id)
  }

  /**
   * The queues were lost: what was asked until now is forgotten once its server has nothing under way any more, for
   * what it had taken out of the queue it still does. Returns the number of requests.
   */
  forgetAsked(): number {
    let count = 0
    for (const server of this.byName.values()) {
      count += server.pending.size
      server.lostAtMs = performance.now()
    }
    return count
  }

  /** Forgets silent servers and requests that were never answered; returns the names of the silent ones. */
  expire(nowMs: number, requestTimeoutMs: number): string[] {
    const silent: string[] = []
    for (const server of this.byName.values()) {
      if (nowMs - server.lastReportAtMs > this.silenceMs) {
        silent.push(server.name)
        this.byName.delete(server.name)
        continue
      }
      for (const [id, { sentAtMs }] of server.pending)
        if (nowMs - sentAtMs > requestTimeoutMs) server.pending.delete(id)
      for (const [id, { untilMs }] of server.refused)
        if (nowMs > untilMs + longestRefusalMs) server.refused.delete(id)
    }
    return silent
  }

  /** Forgets all servers, as a new leader must: each of them reports its whole list again. */
  reset(): void {
    this.byName.clear()
  }

  /** The servers that report, historicals before brokers, by name. */
  servers(): readonly ServerState[] {
    const order = ({ type, name }: ServerState) => `${type === 'historical' ? 0 : 1}${name}`
    return [...this.byName.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1))
  }

  get(name: string): ServerState | undefined {
    return this.byName.get(name)
  }

  /** The servers as planning sees them; those of `leaving` are to be emptied. */
  loadingServers(nowMs: number, leaving: ReadonlySet<string> = new Set()): LoadingServer[] {
    return [...this.byName.values()].map((server) => {
      const loading = new Set<string>()
      const dropping = new Set<string>()
      let loadingSizeBytes = 0
      for (const [id, { action, sizeBytes }] of server.pending) {
        if (action === 'load') {
          loading.add(id)
          loadingSizeBytes += sizeBytes
        } else dropping.add(id)
      }
      // A server that just failed with a segment is not asked again for a while: for planning it is as busy with
      // that segment as one that is dropping it.
      for (const [id, { untilMs }] of server.refused)
        if (nowMs < untilMs && !server.served.has(id)) dropping.add(id)
      const { name, type, tier, maxSizeBytes, usedSizeBytes, served } = server
      return {
        name,
        type,
        tier,
        maxSizeBytes,
        usedSizeBytes,
        loadingSizeBytes,
        decommissioning: leaving.has(name),
        served,
        loading,
        dropping,
      }
    })
  }
}

function forgetLost(server: MutableServer): void {
  if (server.lostAtMs === undefined) return
  for (const [id, { sentAtMs }] of server.pending) if (sentAtMs <= server.lostAtMs) server.pending.delete(id)
  server.lostAtMs = undefined
}
