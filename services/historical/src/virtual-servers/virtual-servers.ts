import { isDeepStrictEqual } from 'node:util'
import { describeError } from '@svc/domain/failure'
import type { VirtualServerGroup } from '@svc/shared/config'
import {
  type AwaitedServer,
  HeardLeader,
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

/** Servers that exist in this process only, for simulations: they hold no bytes, but take their time like others. */
export interface VirtualServers {
  /** What at least one of its historicals serves, for those who follow this process. */
  readonly served: ServedSegments
  groups(): readonly VirtualServerGroup[]
  /**
   * Makes other servers of this process: those of an equal group stay with all that they hold, the others are new or
   * are no more. Resolves when the leader knows.
   */
  replace(groups: readonly VirtualServerGroup[]): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** A load or drop that one of them was asked for. */
interface QueuedRequest {
  readonly request: SegmentRequest
  readonly stamp: RequestStamp
  /** Before then it has not come, where requests are slow. */
  readonly comesAtMs: number
}

/** One of them: with a queue, an inventory and a life of its own. */
interface VirtualServer {
  readonly name: string
  readonly group: VirtualServerGroup
  readonly served: ServedSegments
  readonly log: ReportLog
  /** Sizes of what it serves, by segment. */
  readonly sizes: Map<string, number>
  readonly queue: QueuedRequest[]
  usedSizeBytes: number
  /** When the load at the head of the queue is done, in milliseconds of this process. */
  headDoneAtMs: number
  readonly leader: HeardLeader
  lastReportAtMs: number
  /** Whether the leader has its whole list. */
  isKnown: boolean
  /** When it lives again after a fault has killed it; 0 while it lives. */
  livesAgainAtMs: number
  /** Whether a fault kept its last report from the leader. */
  isCut: boolean
}

const reportPeriodMs = 1000
// How often the servers are looked at for loads that are done.
const workPeriodMs = 50
// How long a server that was killed takes to be there again, as the process of a real one does.
const restartMs = 2000
// Changes that one report tells: the leader reads reports at one stretch, of some ten milliseconds for so many.
const changesAtOnce = 10_000
const serversAtOnce = 5000

/** A server that begins to live, with what it has kept of a former life. */
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
    leader: new HeardLeader(),
    lastReportAtMs: 0,
    isKnown: false,
    livesAgainAtMs: 0,
    isCut: false,
  }
}

/** Whether neither the leader nor those who follow this process find the server. */
const isHidden = ({ livesAgainAtMs, isCut }: VirtualServer): boolean => livesAgainAtMs > 0 || isCut

/** The virtual servers of `svc.simulation.virtualServers`; those without names are named after this process. */
export function createVirtualServers(context: ServiceContext): VirtualServers {
  const { settings, logger, stopping, faults } = context
  const trouble = createTroubleLog(logger)
  const byName = new Map<string, VirtualServer>()
  const served = new ServedSegments()
  /** How many historicals serve a segment. */
  const holders = new Map<string, number>()
  /** Servers that are no more, and of which the leader may not know it. */
  const gone = new Set<string>()
  let groups: readonly VirtualServerGroup[] = []
  let receiver: RequestReceiver | undefined
  let worker: Loop | undefined
  let reporter: Loop | undefined
  let known = Promise.withResolvers<void>()
  /** The fencing number of the leader that last took a report. */
  let term = 0

  function make(wanted: readonly VirtualServerGroup[]): void {
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

  /** Those who follow this process find nothing at the server any more. */
  function hide(server: VirtualServer): void {
    if (isHidden(server)) return
    for (const id of server.served.ids()) noteDropped(server, id)
  }

  function show(server: VirtualServer): void {
    if (isHidden(server)) return
    for (const id of server.served.ids()) noteLoaded(server, id)
  }

  /** What it was asked is lost, and nobody hears of it until it lives again with what lies on its disk. */
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
    server.leader.hear(batch.term)
    const stamp = { term: batch.term, sentAtMs: batch.sentAtMs }
    const struck = faults.at(server.name)
    for (const request of batch.requests) {
      const comesAtMs = performance.now() + struck.requestDelayMs()
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
        // Leaders decide by what is served here now.
        if (!server.leader.isVoid(stamp)) carryOut(server, request)
        const next = server.queue[done]
        if (next)
          server.headDoneAtMs = Math.max(server.headDoneAtMs, next.comesAtMs) + timeFor(server, next.request)
      }
      if (done > 0) server.queue.splice(0, done)
    }
  }

  function carryOut(server: VirtualServer, request: SegmentRequest): void {
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
        message: 'Virtual servers fail as often as they are told to',
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
      // One report gets lost as another would: the next one is made when it is due.
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
    const told = [...gone]
    const body: Report = {
      servers: reported.map(({ report: one }) => one),
      awaited: awaitedBeside(new Set(reported.map(({ server }) => server.name))),
      gone: told,
    }
    const answer = await sendReport(context, body)
    // Another leader knows none of the lists.
    if (answer.term !== term) for (const server of byName.values()) server.isKnown = false
    term = answer.term
    const resync = new Set(answer.resync)
    for (const { server, report: one } of reported) {
      const isNews = server.leader.hear(answer.term, answer.voidUntilMs[server.name])
      // The leader waits for the word that it is void.
      server.lastReportAtMs = isNews ? 0 : nowMs
      server.isKnown = !resync.has(server.name)
      if (server.isKnown) {
        server.log.taken(one)
      } else {
        server.log.refused()
        server.lastReportAtMs = 0
      }
    }
    for (const name of told) if (!byName.has(name)) gone.delete(name)
    if (isAllKnown()) known.resolve()
    // What found no room in this report follows at once.
    if (!isAllKnown() || changes >= changesAtOnce) reporter?.wake()
  }

  /**
   * The servers in the order in which they report: the leader is to hear of those that it knows while it waits for the
   * lists of the others, but not only of them.
   */
  function inTurn(): readonly VirtualServer[] {
    const longestSilentFirst = [...byName.values()].sort((a, b) => a.lastReportAtMs - b.lastReportAtMs)
    const [known, unknown] = [true, false].map((isKnown) =>
      longestSilentFirst.filter((server) => server.isKnown === isKnown),
    ) as [VirtualServer[], VirtualServer[]]
    return [...known.slice(0, serversAtOnce / 2), ...unknown, ...known.slice(serversAtOnce / 2)]
  }

  /** The historicals whose lists the leader does not have, but for those that are reported now. */
  const awaitedBeside = (reported: ReadonlySet<string>): AwaitedServer[] =>
    [...byName.values()]
      .filter(
        (server) =>
          server.group.type === 'historical' &&
          !server.isKnown &&
          !isHidden(server) &&
          !reported.has(server.name),
      )
      .map(({ name, group: { tier } }) => ({ name, process: context.node().name, tier }))

  /** Whether the leader knows which servers there are, and all that they hold. */
  const isAllKnown = (): boolean =>
    gone.size === 0 && [...byName.values()].every((server) => server.isKnown || isHidden(server))

  return {
    served,
    groups: () => groups,
    replace: async (wanted) => {
      // Who waits for an earlier change waits for this one too: what was asked first is no more.
      const before = known
      known = Promise.withResolvers()
      known.promise.then(before.resolve)
      make(wanted)
      reporter?.wake()
      await known.promise
    },
    start: async () => {
      faults.onKill((name) => {
        const server = byName.get(name)
        if (!server) return
        logger.warn('A fault that was asked for kills a virtual server', { server: name })
        kill(server)
      })
      make(settings.get('svc.simulation.virtualServers'))
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
          trouble.over('Reports of the virtual servers reach the leading coordinator again')
        },
        (error) => {
          if (stopping.aborted) return
          trouble.tell('Reports of the virtual servers do not reach the leading coordinator', {
            error: describeError(error),
          })
          return delay.next()
        },
      )
      await known.promise
      logger.info('The virtual servers are known to the leader', { servers: byName.size })
    },
    stop: async () => {
      await receiver?.close()
      await worker?.stop()
      await reporter?.stop()
    },
  }
}
