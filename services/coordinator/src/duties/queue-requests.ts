import { type Database, loadPayloadTexts } from '@svc/shared/postgres'
import type { RequestSender, SegmentRequest } from '@svc/shared/redis'
import type { PendingRequest, ServerInventory } from '../inventory/index.ts'

/** A replica of a segment on a server. */
export interface RequestedCopy {
  readonly server: string
  readonly segmentId: string
}

/** A replica to load. */
export interface RequestedLoad extends RequestedCopy {
  readonly sizeBytes: number
  /** The server whose replica this load replaces. */
  readonly replaces?: string
}

/** Loads and drops to request from the servers. */
export interface Requests {
  readonly loads: readonly RequestedLoad[]
  readonly drops: readonly RequestedCopy[]
}

/** Which leader sends the requests, and which servers should process twice as many segments at a time. */
export interface RequestStamp {
  readonly term: number
  /** Whether that leader is still the leader. Servers that know a later leader ignore its requests. */
  isLeader(): boolean
  readonly turbo?: ReadonlySet<string>
  /** Called after requests were sent, of which `retried` repeat failed ones. */
  onSent?(requests: number, retried: number): void
}

/** Number of loads and drops that were requested from the servers. */
export interface QueuedRequests {
  readonly loads: number
  readonly drops: number
}

interface PreparedRequest {
  readonly request: SegmentRequest
  readonly replaces?: string | undefined
}

// Requests per job: enough to be cheap, and few enough that a job is small.
const batchSize = 32
// Loads whose payloads are read at the same time.
const payloadsAtOnce = 1000
// Servers to which requests are sent in parallel.
const serversAtOnce = 16

/**
 * Queues loads and drops for their servers as long as this server is the leader. Requests that cannot be queued are planned
 * again once the server has confirmed that it ignores them. Throws the first such error at the end.
 */
export async function queueRequests(
  requests: Requests,
  { term, isLeader, turbo, onSent }: RequestStamp,
  database: Database,
  servers: ServerInventory,
  sender: RequestSender,
): Promise<QueuedRequests> {
  const prepared = await prepareByServer(requests, database)
  let loads = 0
  let drops = 0
  let firstError: unknown

  async function sendAll(name: string, all: readonly PreparedRequest[]): Promise<void> {
    const server = servers.get(name)
    if (!server) return
    for (let start = 0; start < all.length; start += batchSize) {
      // This process may become the leader again, and would then wait for answers to ignored requests.
      if (!isLeader()) return
      const batch = all.slice(start, start + batchSize)
      const sentAtMs = performance.now()
      // Record the requests before sending them, because the server may answer before this process sees that they are
      // queued.
      const retried = servers.note(name, pendingRequests(batch, sentAtMs))
      try {
        await sender.send(server.process, {
          term,
          session: server.session,
          server: name,
          sentAtMs,
          requests: batch.map(({ request }) => request),
          ...(turbo?.has(name) ? { turbo: true } : {}),
        })
        for (const { request } of batch) request.action === 'load' ? loads++ : drops++
        onSent?.(batch.length, retried)
      } catch (error) {
        firstError ??= error
        // The server may still get the batch. If it were forgotten now, the next run could drop the replica on another server too.
        servers.voidPendingOf(name)
        return
      }
    }
  }

  // The batches of a server are sent in order. Batches of several servers are sent in parallel, because each waits for Redis.
  const queues = prepared.entries()
  const sendNext = async (): Promise<void> => {
    for (const [name, all] of queues) await sendAll(name, all)
  }
  await Promise.all(Array.from({ length: serversAtOnce }, sendNext))
  if (firstError) throw firstError
  return { loads, drops }
}

/**
 * Returns the requests of each server, with the payloads of the segments to load. Reads the payloads of some segments at a time,
 * because a step for all of them would block this process.
 */
async function prepareByServer(
  { loads, drops }: Requests,
  database: Database,
): Promise<ReadonlyMap<string, readonly PreparedRequest[]>> {
  const byServer = new Map<string, PreparedRequest[]>()
  const add = (server: string, prepared: PreparedRequest) => {
    const requests = byServer.get(server)
    if (requests) requests.push(prepared)
    else byServer.set(server, [prepared])
  }
  for (const { server, segmentId } of drops) add(server, { request: { action: 'drop', id: segmentId } })
  for (let start = 0; start < loads.length; start += payloadsAtOnce) {
    const some = loads.slice(start, start + payloadsAtOnce)
    const ids = new Set(some.map(({ segmentId }) => segmentId))
    const payloads = await loadPayloadTexts(database, [...ids])
    for (const { server, segmentId, sizeBytes, replaces } of some) {
      const payload = payloads.get(segmentId)
      // Without a payload, the segment was deleted after it was planned.
      if (payload === undefined) continue
      add(server, { request: { action: 'load', id: segmentId, sizeBytes, payload }, replaces })
    }
  }
  return byServer
}

const pendingRequests = (
  batch: readonly PreparedRequest[],
  sentAtMs: number,
): ReadonlyMap<string, PendingRequest> =>
  new Map(
    batch.map(({ request, replaces }) => {
      const { action, id } = request
      const sizeBytes = request.action === 'load' ? request.sizeBytes : 0
      return [id, { action, sizeBytes, sentAtMs, ...(replaces === undefined ? {} : { replaces }) }]
    }),
  )
