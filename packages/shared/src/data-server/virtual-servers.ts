import { describeError } from '@svc/domain/failure'
import type { VirtualServerGroup } from '../config/index.ts'
import {
  type RequestBatch,
  type RequestReceiver,
  receiveRequests,
  type SegmentRequest,
} from '../redis/index.ts'
import { createTroubleLog, growingDelay, type Loop, startLoop } from '../runtime/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { type Report, type ReportAnswer, reportPath, type ServerReport } from './report.ts'
import { ReportLog } from './report-log.ts'
import { ServedSegments } from './served-segments.ts'

/** Servers that exist in this process only, for simulations: they hold no bytes, but take their time like others. */
export interface VirtualServers {
  start(): Promise<void>
  stop(): Promise<void>
}

/** One of them: with a queue, an inventory and a life of its own. */
interface VirtualServer {
  readonly name: string
  readonly group: VirtualServerGroup
  readonly served: ServedSegments
  readonly log: ReportLog
  /** Sizes of what it serves, by segment. */
  readonly sizes: Map<string, number>
  readonly queue: { readonly request: SegmentRequest; readonly term: number }[]
  usedSizeBytes: number
  /** When the load at the head of the queue is done, in milliseconds of this process. */
  headDoneAtMs: number
  highestTerm: number
  lastReportAtMs: number
}

const reportPeriodMs = 1000
// How often the servers are looked at for loads that are done.
const workPeriodMs = 50
// Changes that one report tells: the leader reads reports at one stretch.
const changesAtOnce = 4000

/** The virtual servers of `svc.simulation.virtualServers`, named after this process. */
export function createVirtualServers(context: ServiceContext): VirtualServers {
  const { settings, logger, client, stopping } = context
  const groups = settings.get('svc.simulation.virtualServers')
  const trouble = createTroubleLog(logger)
  const byName = new Map<string, VirtualServer>()
  let receiver: RequestReceiver | undefined
  let worker: Loop | undefined
  let reporter: Loop | undefined
  let resolveKnown: () => void = () => undefined
  const known = new Promise<void>((resolve) => {
    resolveKnown = resolve
  })

  function make(): void {
    const process = context.node().name
    for (const group of groups) {
      for (let number = 1; number <= group.count; number++) {
        const served = new ServedSegments()
        const name = `${process}-${group.tier}-${number}`
        byName.set(name, {
          name,
          group,
          served,
          log: new ReportLog(served),
          sizes: new Map(),
          queue: [],
          usedSizeBytes: 0,
          headDoneAtMs: 0,
          highestTerm: 0,
          lastReportAtMs: 0,
        })
      }
    }
  }

  async function handle(batch: RequestBatch): Promise<void> {
    const server = byName.get(batch.server)
    if (!server || batch.session !== server.served.session || batch.term < server.highestTerm) return
    server.highestTerm = batch.term
    for (const request of batch.requests) {
      if (server.queue.length === 0) server.headDoneAtMs = performance.now() + timeFor(server, request)
      server.queue.push({ request, term: batch.term })
    }
  }

  const timeFor = ({ group }: VirtualServer, request: SegmentRequest): number =>
    request.action === 'load' ? (1000 * request.payload.size) / group.bytesPerSecond : 0

  function work(): void {
    const nowMs = performance.now()
    for (const server of byName.values()) {
      let done = 0
      while (done < server.queue.length && server.headDoneAtMs <= nowMs) {
        const { request, term } = server.queue[done] as (typeof server.queue)[number]
        done += 1
        // A new leader decides by what is served here now.
        if (term === server.highestTerm) carryOut(server, request)
        const next = server.queue[done]
        if (next) server.headDoneAtMs += timeFor(server, next.request)
      }
      if (done > 0) server.queue.splice(0, done)
    }
  }

  function carryOut(server: VirtualServer, request: SegmentRequest): void {
    if (request.action === 'drop') {
      server.usedSizeBytes -= server.sizes.get(request.id) ?? 0
      server.sizes.delete(request.id)
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
  }

  async function report(): Promise<void> {
    const process = context.node().name
    const nowMs = performance.now()
    const reported: { readonly server: VirtualServer; readonly report: ServerReport }[] = []
    let changes = 0
    const longestSilentFirst = [...byName.values()].sort((a, b) => a.lastReportAtMs - b.lastReportAtMs)
    for (const server of longestSilentFirst) {
      if (changes >= changesAtOnce) break
      if (!server.log.hasNews() && nowMs - server.lastReportAtMs < reportPeriodMs) continue
      const told = server.log.next()
      changes += told.changes.length + (told.segments?.length ?? 0) + told.failures.length
      reported.push({
        server,
        report: {
          name: server.name,
          process,
          type: 'historical',
          tier: server.group.tier,
          priority: 0,
          maxSizeBytes: server.group.maxSizeBytes,
          usedSizeBytes: server.usedSizeBytes,
          underWay: server.queue.length,
          term: server.highestTerm,
          ...told,
        },
      })
    }
    if (reported.length === 0) return
    const body: Report = { servers: reported.map(({ report: one }) => one) }
    const answer = await client.callLeader<ReportAnswer>('coordinator', {
      method: 'POST',
      path: reportPath,
      body,
      signal: stopping,
    })
    const resync = new Set(answer.resync)
    for (const { server, report: one } of reported) {
      server.highestTerm = Math.max(server.highestTerm, answer.term)
      server.lastReportAtMs = nowMs
      if (resync.has(server.name)) {
        server.log.refused()
        server.lastReportAtMs = 0
      } else server.log.taken(one)
    }
    if (answer.resync.length === 0) resolveKnown()
  }

  return {
    start: async () => {
      make()
      const process = context.node().name
      receiver = receiveRequests(
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
      await known
      logger.info('The virtual servers are known to the leader', { servers: byName.size })
    },
    stop: async () => {
      await receiver?.close()
      await worker?.stop()
      await reporter?.stop()
    },
  }
}
