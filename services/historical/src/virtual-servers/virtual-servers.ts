import { isDeepStrictEqual } from 'node:util'
import { describeError } from '@svc/domain/failure'
import type { VirtualServerGroup } from '@svc/shared/config'
import {
  type AwaitedServer,
  KnownLeader,
  type Report,
  ReportLog,
  type RequestStamp,
  ServedSegments,
  type ServerReport,
  sendReport,
} from '@svc/shared/data-server'
import {
  type RequestBatch,
  type RequestReceiver,
  receiveRequests,
  type SegmentRequest,
} from '@svc/shared/redis'
import { createTroubleLog, growingDelay, type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'

/** Virtual servers for simulations, which exist only in this process. They store no data, but take as long as real ones. */
export interface VirtualServers {
  /** The segments that at least one virtual historical serves, for servers that follow this process. */
  readonly served: ServedSegments
  groups(): readonly VirtualServerGroup[]
  /**
   * Replaces the virtual servers. Servers whose group is unchanged keep their segments; others are created or removed.
   * Resolves once the leader knows all of them.
   */
  replace(groups: readonly VirtualServerGroup[]): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** A load or drop request in the queue of a virtual server. */
interface QueuedRequest {
  readonly request: SegmentRequest
  readonly stamp: RequestStamp
  /** When the request arrives, if a fault delays requests. */
  readonly comesAtMs: number
}

/** A virtual server with its own queue, inventory, and lifetime. */
interface VirtualServer {
  readonly name: string
  readonly group: VirtualServerGroup
  readonly served: ServedSegments
  readonly log: ReportLog
  /** Size in bytes of each segment that it serves, by id. */
  readonly sizes: Map<string, number>
  readonly queue: QueuedRequest[]
  usedSizeBytes: number
  /** When the request at the head of the queue is done, as a `performance.now()` time. */
  headDoneAtMs: number
  readonly leader: KnownLeader
  lastReportAtMs: number
  /** Whether the leader has its complete list of segments. */
  isKnown: boolean
  /** When it restarts after a fault killed it, or 0 while it is running. */
  livesAgainAtMs: number
  /** Whether a fault blocked its last report to the leader. */
  isCut: boolean
}

const reportPeriodMs = 1000
// How often to check the servers for finished loads.
const workPeriodMs = 50
// How long a killed server takes to restart, similar to the process of a real one.
const restartMs = 2000
// Maximum number of changes per report. The leader processes a report without pausing: about 10 ms for this many changes.
const changesAtOnce = 10_000
const serversAtOnce = 5000

/** Creates a server, with the segments that it kept from an earlier lifetime. */
function createServer({
  name,
  group,
  sizes = new Map(),
  usedSizeBytes = 0,
}: Pick<VirtualServer, 'name' | 'group'> & Partial<VirtualServer>): VirtualServer {
  const served = new ServedSegments()
  for (const id of sizes.keys()) served.add(id)
  return {
    name,
    group,
    served,
    log: new ReportLog(served),
    sizes,
    queue: [],
    usedSizeBytes,
    headDoneAtMs: 0,
    leader: new KnownLeader(),
    lastReportAtMs: 0,
    isKnown: false,
    livesAgainAtMs: 0,
    isCut: false,
  }
}

/** Whether a fault hides the server from the leader and from servers that follow this process. */
const isHidden = ({ livesAgainAtMs, isCut }: VirtualServer): boolean => livesAgainAtMs > 0 || isCut

/** Creates the virtual servers of `svc.simulation.virtualServers`. Servers without names are named after this process. */
export function createVirtualServers(context: ServiceContext): VirtualServers {
  const { settings, logger, stopping, faults } = context
  const trouble = createTroubleLog(logger)
  const byName = new Map<string, VirtualServer>()
  const served = new ServedSegments()
  /** Number of historicals that serve each segment. */
  const holders = new Map<string, number>()
  /** Removed servers that the leader may not know about yet. */
  const gone = new Set<string>()
  let groups: readonly VirtualServerGroup[] = []
  let receiver: RequestReceiver | undefined
  let worker: Loop | undefined
  let reporter: Loop | undefined
  let known = Promise.withResolvers<void>()
  /** The fencing number of the leader that last accepted a report. */
  let term = 0

  function createServers(wanted: readonly VirtualServerGroup[]): void {
    const process = context.node().name
    const names = new Set<string>()
    for (const group of wanted) {
      const kind = group.type === 'broker' ? `broker-${group.tier}` : group.tier
      for (let number = 1; number <= group.count; number++) {
        const name = group.name ?? `${process}-${kind}-${number}`
        names.add(name)
        const present = byName.get(name)
        if (present && isDeepStrictEqual({ ...present.group, count: 0 }, { ...group, count: 0 })) continue
        if (present) remove(present)
        gone.delete(name)
        byName.set(name, createServer({ name, group }))
      }
    }
    for (const server of [...byName.values()]) {
      if (names.has(server.name)) continue
      remove(server)
      gone.add(server.name)
    }
    groups = wanted
  }

  function remove(server: VirtualServer): void {
    hide(server)
    byName.delete(server.name)
  }

  /** Hides the segments of a server from servers that follow this process. */
  function hide(server: VirtualServer): void {
    if (isHidden(server)) return
    for (const id of server.served.ids()) noteDropped(server, id)
  }

  function show(server: VirtualServer): void {
    if (isHidden(server)) return
    for (const id of server.served.ids()) noteLoaded(server, id)
  }

  /** Drops its queue and hides it until it restarts with the segments on its disk. */
  function kill(server: VirtualServer): void {
    hide(server)
    server.livesAgainAtMs = performance.now() + restartMs
    server.queue.length = 0
  }

  function revive({ name, group, sizes, usedSizeBytes }: VirtualServer): void {
    const server = createServer({ name, group, sizes, usedSizeBytes })
    byName.set(name, server)
    show(server)
  }

  function setCut(server: VirtualServer, isCut: boolean): void {
    if (server.isCut === isCut) return
    if (isCut) hide(server)
    server.isCut = isCut
    if (!isCut) show(server)
  }

  function noteLoaded(server: VirtualServer, id: string): void {
    if (server.group.type !== 'historical' || isHidden(server)) return
    holders.set(id, (holders.get(id) ?? 0) + 1)
    served.add(id)
  }

  function noteDropped(server: VirtualServer, id: string): void {
    if (server.group.type !== 'historical' || isHidden(server) || !server.served.has(id)) return
    const left = (holders.get(id) as number) - 1
    if (left > 0) {
      holders.set(id, left)
      return
    }
    holders.delete(id)
    served.remove(id)
  }

  async function handle(batch: RequestBatch): Promise<void> {
    const server = byName.get(batch.server)
    if (!server || server.livesAgainAtMs > 0) return
    if (batch.session !== server.served.session || server.leader.isVoid(batch)) return
    server.leader.noteLeader(batch.term)
    const stamp = { term: batch.term, sentAtMs: batch.sentAtMs }
    const faulty = faults.at(server.name)
    for (const request of batch.requests) {
      const comesAtMs = performance.now() + faulty.requestDelayMs()
      if (server.queue.length === 0) server.headDoneAtMs = comesAtMs + timeFor(server, request)
      server.queue.push({ request, stamp, comesAtMs })
    }
  }

  const timeFor = ({ name, group }: VirtualServer, request: SegmentRequest): number =>
    request.action === 'load'
      ? (1000 * request.payload.size) / group.bytesPerSecond + faults.at(name).diskDelayMs()
      : 0

  function work(): void {
    const nowMs = performance.now()
    for (const server of [...byName.values()]) {
      if (server.livesAgainAtMs > 0) {
        if (server.livesAgainAtMs <= nowMs) revive(server)
        continue
      }
      let done = 0
      while (done < server.queue.length && server.headDoneAtMs <= nowMs) {
        const { request, stamp } = server.queue[done] as (typeof server.queue)[number]
        done += 1
        // Leaders decide based on what is served here now.
        if (!server.leader.isVoid(stamp)) execute(server, request)
        const next = server.queue[done]
        if (next)
          server.headDoneAtMs = Math.max(server.headDoneAtMs, next.comesAtMs) + timeFor(server, next.request)
      }
      if (done > 0) server.queue.splice(0, done)
    }
  }

  function execute(server: VirtualServer, request: SegmentRequest): void {
    if (request.action === 'drop') {
      server.usedSizeBytes -= server.sizes.get(request.id) ?? 0
      server.sizes.delete(request.id)
      noteDropped(server, request.id)
      server.served.remove(request.id)
      return
    }
    const { identifier: id, size } = request.payload
    if (Math.random() < server.group.failureProbability) {
      server.log.noteFailure({
        id,
        action: 'load',
        message: 'Simulated failure, as configured by failureProbability',
      })
      return
    }
    if (server.served.has(id)) return
    server.sizes.set(id, size)
    server.usedSizeBytes += size
    server.served.add(id)
    noteLoaded(server, id)
  }

  async function report(): Promise<void> {
    const process = context.node().name
    const nowMs = performance.now()
    const reported: { readonly server: VirtualServer; readonly report: ServerReport }[] = []
    let changes = 0
    for (const server of inTurn()) {
      if (changes >= changesAtOnce || reported.length >= serversAtOnce) break
      if (server.livesAgainAtMs > 0) continue
      const isDue = nowMs - server.lastReportAtMs >= reportPeriodMs
      // A blocked report is lost like any other; the next one is sent when it is due.
      if (server.isCut ? !isDue : !isDue && server.isKnown && !server.log.hasNews()) continue
      setCut(server, faults.at(server.name).isCut())
      if (server.isCut) {
        server.lastReportAtMs = nowMs
        continue
      }
      const news = server.log.next()
      changes += news.changes.length + (news.segments?.length ?? 0) + news.failures.length
      reported.push({
        server,
        report: {
          name: server.name,
          process,
          type: server.group.type,
          tier: server.group.tier,
          priority: server.group.priority,
          maxSizeBytes: server.group.maxSizeBytes,
          usedSizeBytes: server.usedSizeBytes,
          term: server.leader.term,
          voidUntilMs: server.leader.confirmedVoidUntilMs(),
          ...news,
        },
      })
    }
    if (reported.length === 0 && gone.size === 0) {
      if (isAllKnown()) known.resolve()
      return
    }
    const reportedGone = [...gone]
    const body: Report = {
      servers: reported.map(({ report: one }) => one),
      awaited: otherAwaited(new Set(reported.map(({ server }) => server.name))),
      gone: reportedGone,
    }
    const answer = await sendReport(context, body)
    // A new leader does not know any of the lists.
    if (answer.term !== term) for (const server of byName.values()) server.isKnown = false
    term = answer.term
    const resync = new Set(answer.resync)
    for (const { server, report: one } of reported) {
      const isNews = server.leader.noteLeader(answer.term, answer.voidUntilMs[server.name])
      // The leader is waiting for this confirmation, so report again immediately.
      server.lastReportAtMs = isNews ? 0 : nowMs
      server.isKnown = !resync.has(server.name)
      if (server.isKnown) {
        server.log.taken(one)
      } else {
        server.log.refused()
        server.lastReportAtMs = 0
      }
    }
    for (const name of reportedGone) if (!byName.has(name)) gone.delete(name)
    if (isAllKnown()) known.resolve()
    // Send what did not fit in this report immediately.
    if (!isAllKnown() || changes >= changesAtOnce) reporter?.wake()
  }

  /**
   * Returns the servers in the order in which they report. Servers that the leader knows must keep reporting while others
   * send their lists, but must not fill all reports.
   */
  function inTurn(): readonly VirtualServer[] {
    const byLastReport = [...byName.values()].sort((a, b) => a.lastReportAtMs - b.lastReportAtMs)
    const [known, unknown] = [true, false].map((isKnown) =>
      byLastReport.filter((server) => server.isKnown === isKnown),
    ) as [VirtualServer[], VirtualServer[]]
    return [...known.slice(0, serversAtOnce / 2), ...unknown, ...known.slice(serversAtOnce / 2)]
  }

  /** Returns the historicals whose lists the leader does not have yet and that are not in this report. */
  const otherAwaited = (reported: ReadonlySet<string>): AwaitedServer[] =>
    [...byName.values()]
      .filter(
        (server) =>
          server.group.type === 'historical' &&
          !server.isKnown &&
          !isHidden(server) &&
          !reported.has(server.name),
      )
      .map(({ name, group: { tier } }) => ({ name, process: context.node().name, tier }))

  /** Whether the leader knows all servers and all their segments. */
  const isAllKnown = (): boolean =>
    gone.size === 0 && [...byName.values()].every((server) => server.isKnown || isHidden(server))

  return {
    served,
    groups: () => groups,
    replace: async (wanted) => {
      // Callers that wait for an earlier change now wait for this one, because it replaces the earlier one.
      const before = known
      known = Promise.withResolvers()
      known.promise.then(before.resolve)
      createServers(wanted)
      reporter?.wake()
      await known.promise
    },
    start: async () => {
      faults.onKill((name) => {
        const server = byName.get(name)
        if (!server) return
        logger.warn('An injected fault killed a virtual server', { server: name })
        kill(server)
      })
      createServers(settings.get('svc.simulation.virtualServers'))
      const process = context.node().name
      receiver = await receiveRequests(
        settings,
        process,
        settings.get('svc.segmentCache.numLoadingThreads'),
        handle,
      )
      worker = startLoop(
        workPeriodMs,
        async () => work(),
        () => undefined,
      )
      const delay = growingDelay(100, reportPeriodMs)
      reporter = startLoop(
        workPeriodMs,
        async () => {
          await report()
          delay.reset()
          trouble.over('Resumed reporting the virtual servers to the coordinator')
        },
        (error) => {
          if (stopping.aborted) return
          trouble.report('Failed to report the virtual servers to the coordinator', {
            error: describeError(error),
          })
          return delay.next()
        },
      )
      await known.promise
      logger.info('Registered the virtual servers with the leader', { servers: byName.size })
    },
    stop: async () => {
      await receiver?.close()
      await worker?.stop()
      await reporter?.stop()
    },
  }
}
