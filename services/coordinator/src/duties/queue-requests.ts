import type { SegmentPayload } from '@svc/domain/segment'
import { type Database, loadPayloads } from '@svc/shared/postgres'
import type { RequestSender, SegmentRequest } from '@svc/shared/redis'
import type { PendingRequest, ServerInventory } from '../inventory/index.ts'

/** A copy of a segment on a server. */
export interface RequestedCopy {
  readonly server: string
  readonly segmentId: string
}

/** A copy that is to be loaded. */
export interface RequestedLoad extends RequestedCopy {
  readonly sizeBytes: number
  /** The load is to take the place of the copy of this server. */
  readonly replaces?: string
}

/** What is to be asked of the servers. */
export interface Requests {
  readonly loads: readonly RequestedLoad[]
  readonly drops: readonly RequestedCopy[]
}

/** Who asks, and which servers are to work on several segments of a batch at a time. */
export interface RequestStamp {
  readonly term: number
  /** Whether that leader still leads; the servers that have heard of a later one do nothing for it. */
  leads(): boolean
  readonly turbo?: ReadonlySet<string>
}

/** What was asked of the servers. */
export interface QueuedRequests {
  readonly loads: number
  readonly drops: number
}

interface PreparedRequest {
  readonly id: string
  readonly request: SegmentRequest
  readonly sizeBytes: number
  readonly replaces: string | undefined
}

// Requests in one job: small enough that a server works on several at a time, large enough to be cheap.
const batchSize = 32
const payloadsAtOnce = 1000
// Servers whose requests are sent at a time.
const serversAtOnce = 16

/**
 * Queues loads and drops for the servers concerned, while the leader leads. What cannot be queued is planned again once
 * the server has said that it will not do it; the first such error is thrown at the end.
 */
export async function queueRequests(
  requests: Requests,
  { term, leads, turbo }: RequestStamp,
  database: Database,
  servers: ServerInventory,
  sender: RequestSender,
): Promise<QueuedRequests> {
  const payloads = await loadAllPayloads(database, [
    ...new Set(requests.loads.map(({ segmentId }) => segmentId)),
  ])
  const byServer = new Map<string, PreparedRequest[]>()
  const add = (server: string, prepared: PreparedRequest) => {
    const requests = byServer.get(server)
    if (requests) requests.push(prepared)
    else byServer.set(server, [prepared])
  }
  for (const { server, segmentId } of requests.drops)
    add(server, {
      id: segmentId,
      request: { action: 'drop', id: segmentId },
      sizeBytes: 0,
      replaces: undefined,
    })
  for (const { server, segmentId, sizeBytes, replaces } of requests.loads) {
    const payload = payloads.get(segmentId)
    // Erased since the plan was made: nothing is left to load.
    if (payload) add(server, { id: segmentId, request: { action: 'load', payload }, sizeBytes, replaces })
  }
  let loads = 0
  let drops = 0
  let firstError: unknown

  async function sendAll(name: string, prepared: readonly PreparedRequest[]): Promise<void> {
    const server = servers.get(name)
    if (!server) return
    for (let start = 0; start < prepared.length; start += batchSize) {
      // The next leader may be this process again: it would wait for answers to what is void.
      if (!leads()) return
      const batch = prepared.slice(start, start + batchSize)
      const sentAtMs = performance.now()
      // Noted before they are sent: the server may answer before this process hears that they were queued.
      servers.note(
        name,
        new Map<string, PendingRequest>(
          batch.map(({ id, request, sizeBytes, replaces }) => [
            id,
            { action: request.action, sizeBytes, sentAtMs, ...(replaces === undefined ? {} : { replaces }) },
          ]),
        ),
      )
      try {
        const body = batch.map(({ request }) => request)
        await sender.send(server.process, {
          term,
          session: server.session,
          server: name,
          sentAtMs,
          requests: body,
          ...(turbo?.has(name) ? { turbo: true } : {}),
        })
        for (const { request } of batch) request.action === 'load' ? loads++ : drops++
      } catch (error) {
        firstError ??= error
        // The server may get it all the same: were it forgotten at once, another would be asked to drop its copy too.
        servers.voidAskedOf(name)
        return
      }
    }
  }

  // One server's batches stay in their order; those of several go out at a time, for each waits for an answer.
  const queues = byServer.entries()
  const sendNext = async (): Promise<void> => {
    for (const [name, prepared] of queues) await sendAll(name, prepared)
  }
  await Promise.all(Array.from({ length: serversAtOnce }, sendNext))
  if (firstError) throw firstError
  return { loads, drops }
}

/** The payloads of many segments, some at a time: reading them keeps this process from everything else. */
async function loadAllPayloads(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SegmentPayload>> {
  const payloads = new Map<string, SegmentPayload>()
  for (let start = 0; start < ids.length; start += payloadsAtOnce)
    for (const [id, payload] of await loadPayloads(database, ids.slice(start, start + payloadsAtOnce)))
      payloads.set(id, payload)
  return payloads
}
