import { securityResource } from '@svc/domain/access'
import { formatInstant } from '@svc/domain/time'
import { omittable } from '@svc/domain/validation'
import { authenticated, type Route, route, streamed, textAnswer } from '@svc/shared/http'
import { accessTo, type Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { textParameter } from '@svc/shared/wire'
import {
  type ChangeFeed,
  type Changes,
  type ChangeTopic,
  createEventWriter,
  type EventWriter,
  StreamLimit,
} from '../change-stream/index.ts'
import type { ClusterView } from '../cluster-view.ts'
import { readsRules } from '../inventory/index.ts'
import { atLeader, type Leadership } from '../leadership/index.ts'

const query = { since: omittable(textParameter) }

// The router has 128 connections to the leader, and each stream takes one of them.
const maxStreams = 64
const maxStreamsPerCaller = 8
// Shorter than the timeouts of proxies.
const heartbeatMs = 10_000
// Login and permissions are checked when a stream starts, so a caller must start a new one regularly, and after changes to users and
// roles.
const maxStreamMs = 60_000

/** Returns the endpoint that streams what changes in the cluster, as server-sent events. */
export function changesRoute({ leadership, context }: ClusterView, feed: ChangeFeed): Route {
  const limit = new StreamLimit(maxStreams, maxStreamsPerCaller)
  return atLeader(
    leadership,
    context,
    route({
      method: 'GET',
      path: '/svc/coordinator/v1/changes',
      access: authenticated,
      summary:
        'Follow changes to segments, rules, tasks, and servers as server-sent events. The stream contains changes to the datasources that the caller may read; changes to servers require READ on STATE. `topics` lists what else has changed and the caller may read: `access` (users or roles changed; later changes are only in a new stream, with the new permissions of the caller), `audit` (there are new audit entries), `nodes` (servers joined or left, or another one leads), `serverProblems`, `refusals` (servers refused requests or TLS handshakes). With `since` (the ID of the last known event), the stream contains all later changes and lasts up to a minute. Without `since`, the only event is `start`, which contains the ID to start from. If the ID is unknown, the only event is `reset`: anything may have changed',
      query,
      answers: [textAnswer('text/event-stream')],
      failures: ['busy'],
      handle: async ({ caller, query: { since }, signal, request, response }) => {
        const leave = limit.enter(caller)
        try {
          const { id } = await feed.current()
          response.writeHead(200, {
            'Content-Type': 'text/event-stream; charset=utf-8',
            'Cache-Control': 'no-store',
          })
          // The reader is connected, even if the first change takes long.
          response.flushHeaders()
          if (request.method !== 'HEAD') {
            const writer = createEventWriter(response, signal)
            const stream = { writer, caller, feed, leadership, stopping: context.stopping, signal }
            if (since === undefined) await writer.write({ name: 'start', id, data: {} })
            else await follow(since, stream)
          }
          response.end()
        } finally {
          leave()
        }
        return streamed
      },
    }),
  )
}

/** A stream to one caller. */
interface Stream extends Pick<ServiceContext, 'stopping'> {
  readonly writer: EventWriter
  readonly caller: Caller
  readonly feed: ChangeFeed
  readonly leadership: Leadership
  /** Aborted when the caller has left. */
  readonly signal: AbortSignal
}

/** Writes what changes after an event, until the stream must end. */
async function follow(since: string, stream: Stream): Promise<void> {
  const { writer, caller, feed, leadership, stopping, signal } = stream
  const timeout = AbortSignal.timeout(maxStreamMs)
  let last = since
  // What changed before is known with the permissions that the caller has now.
  let hasCaughtUp = false
  while (writer.isOpen) {
    const reason =
      leadership.term() === undefined
        ? 'This coordinator is no longer the leader'
        : stopping.aborted
          ? 'This server is stopping'
          : timeout.aborted
            ? 'The stream reached its time limit of one minute: to continue, pass the last event ID as [since]'
            : undefined
    if (reason !== undefined) return await writer.write({ name: 'end', data: { reason } })
    const changes = feed.since(last)
    if (changes === undefined) {
      const data = { reason: 'The changes since the last event are no longer available' }
      return await writer.write({ name: 'reset', id: feed.lastId() ?? last, data })
    }
    if (hasCaughtUp && changes.topics.includes('access')) {
      const reason = 'Users or roles have changed: log in again to continue'
      return await writer.write({ name: 'end', data: { reason } })
    }
    hasCaughtUp = true
    if (changes.id !== last) {
      last = changes.id
      await writer.write({ name: 'changes', id: last, data: await readableChanges(changes, caller) })
      continue
    }
    const silence = AbortSignal.timeout(heartbeatMs)
    await feed.next(AbortSignal.any([signal, stopping, timeout, silence]))
    if (silence.aborted) await writer.writeHeartbeat()
  }
}

const readsState = (caller: Caller): boolean => caller.can('READ', 'STATE', 'STATE')
const readsSecurity = (caller: Caller): boolean => caller.can('READ', 'CONFIG', securityResource)

/** Who may know about a topic: those who may read what it is about. */
const readersOf: Readonly<Record<ChangeTopic, (caller: Caller) => boolean>> = {
  access: () => true,
  audit: (caller) => caller.can('READ', 'CONFIG', 'CONFIG') || readsSecurity(caller),
  refusals: readsSecurity,
  nodes: readsState,
  serverProblems: readsState,
}

/** Returns the changes that a caller may see, as JSON. */
async function readableChanges(
  { now, segments, rules, tasks, servers, topics, clusterState }: Changes,
  caller: Caller,
): Promise<object> {
  const isReadable = await accessTo(caller, [...segments.keys(), ...rules, ...tasks])
  return {
    now: formatInstant(now),
    segments: Object.fromEntries([...segments].filter(([name]) => isReadable(name))),
    rules: rules.filter(readsRules(isReadable)),
    tasks: tasks.filter(isReadable),
    topics: topics.filter((topic) => readersOf[topic](caller)),
    ...(readsState(caller) ? { servers, clusterState: await clusterState?.shownTo(caller) } : {}),
  }
}
