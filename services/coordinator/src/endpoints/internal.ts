import { unavailable } from '@svc/domain/failure'
import { omittable } from '@svc/domain/validation'
import { internal, JsonPieces, jsonAnswer, jsonBody, type Route, route } from '@svc/shared/http'
import {
  type ReportAnswer,
  readReport,
  reportLimitBytes,
  reportPath,
  type SegmentHolders,
  type StandbyReportAnswer,
  segmentHoldersPath,
  standbyReportPath,
} from '@svc/shared/segment-serving'
import type { ServiceContext } from '@svc/shared/service'
import { knownVersionPath, usersAndRolesPath, usersAndRolesWaitMs } from '@svc/shared/users'
import { integerParameter, textParameter } from '@svc/shared/wire'
import * as z from 'zod'
import { type SegmentInventory, type ServerInventory, servedSegments } from '../inventory/index.ts'
import type { Leadership } from '../leadership/index.ts'
import type { UsersFollowers } from '../users/index.ts'

/** Reads a version of users and roles; -1 means none. */
const version = integerParameter(-1, Number.MAX_SAFE_INTEGER)
const newerQuery = { version: omittable(version, -1) }

/** Returns the endpoints that only other servers may call. */
export function internalRoutes(
  context: Pick<ServiceContext, 'database' | 'stopping' | 'users'>,
  leadership: Leadership,
  segments: SegmentInventory,
  servers: ServerInventory,
  followers: UsersFollowers,
): Route[] {
  return [
    ...reportRoutes(leadership, servers),
    route({
      method: 'GET',
      path: segmentHoldersPath,
      access: internal,
      summary:
        'List the used segments of a datasource with the servers that serve them, one JSON array per line',
      query: { dataSource: textParameter },
      answers: [jsonAnswer(z.array(z.string()))],
      handle: ({ query }) => {
        if (leadership.term() === undefined) throw unavailable('This coordinator is not the leader')
        return new JsonPieces(holdersOf(segments, servers, query.dataSource))
      },
    }),
    route({
      method: 'GET',
      path: usersAndRolesPath,
      access: internal,
      summary: 'Get users and roles; waits until there is a version that the caller does not have',
      query: newerQuery,
      answers: [jsonAnswer(z.object({ directory: z.looseObject({}).nullable() }))],
      handle: async ({ query, signal, request }) => {
        const users = context.users()
        const server = request.headers['x-svc-from']
        if (typeof server === 'string') followers.noteVersion(server, query.version)
        const newer = () => {
          const current = users.current()
          return 'missing' in current || current.version === query.version ? undefined : current
        }
        if (context.stopping.aborted) throw unavailable('This coordinator is stopping')
        if (!newer()) await untilChange(context, signal)
        return { directory: newer() ?? null }
      },
    }),
    route({
      method: 'GET',
      path: knownVersionPath,
      access: internal,
      summary:
        'Wait for all servers to use a given version of users and roles, and return the servers that still do not',
      query: { version },
      answers: [jsonAnswer(z.object({ silent: z.array(z.string()) }))],
      handle: async ({ query }) => ({ silent: await followers.untilKnown(query.version) }),
    }),
  ]
}

/** Returns the endpoints for the reports of data servers, to the leader and to standbys. */
function reportRoutes(leadership: Leadership, servers: ServerInventory): Route[] {
  return [
    route({
      method: 'POST',
      path: reportPath,
      access: internal,
      summary:
        'Report which segments data servers serve, and which ones they loaded, dropped, or failed to load or drop',
      body: jsonBody(readReport, { limitBytes: reportLimitBytes }),
      answers: [jsonAnswer(z.looseObject({}))],
      handle: ({ body }): ReportAnswer => {
        const term = leadership.term()
        if (term === undefined) throw unavailable('This coordinator is not the leader')
        servers.forgetGone(body.gone)
        return servers.take(body.servers, term, performance.now(), body.awaited)
      },
    }),
    route({
      method: 'POST',
      path: standbyReportPath,
      access: internal,
      summary: 'Report the segments that data servers serve to a standby coordinator',
      body: jsonBody(readReport, { limitBytes: reportLimitBytes }),
      answers: [jsonAnswer(z.looseObject({}))],
      handle: ({ body }): StandbyReportAnswer => {
        // Only reports under the leader's own term count at the leader.
        if (leadership.term() !== undefined) return { resync: [] }
        return { resync: servers.takeAsStandby(body.servers, performance.now()) }
      },
    }),
  ]
}

async function* holdersOf(
  segments: SegmentInventory,
  servers: ServerInventory,
  dataSource: string,
): AsyncGenerator<string> {
  for await (const together of servedSegments(segments, servers, [dataSource])) {
    for (const { segment, servers: holders } of together) {
      const line: SegmentHolders = [segment.id, ...holders]
      yield `${JSON.stringify(line)}\n`
    }
  }
}

/** Resolves when users or roles change, the caller disconnects, this server stops, or the wait times out. */
async function untilChange(
  context: Pick<ServiceContext, 'stopping' | 'users'>,
  signal: AbortSignal,
): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      context.stopping.removeEventListener('abort', end)
      stopListening()
      resolve()
    }
    const timer = setTimeout(end, usersAndRolesWaitMs)
    const stopListening = context.users().onChange(end)
    context.stopping.addEventListener('abort', end, { once: true })
    signal.addEventListener('abort', end, { once: true })
  })
}
