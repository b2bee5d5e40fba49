import { type CallJournal, callJournalPath, groupCalls, type RecordedCall } from '@svc/domain/calls'
import { describeError } from '@svc/domain/failure'
import { createConcurrencyLimit } from '@svc/shared/concurrency-limit'
import { roles } from '@svc/shared/config'
import type { DiscoveredNode } from '@svc/shared/discovery'
import { jsonAnswer, type Route, route, state } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import * as z from 'zod'
import { keepFor } from '../answers/index.ts'

// A page that shows the calls refetches them every few seconds, and several users may have one open.
const keptMs = 3000
// The journals of a thousand historicals say much the same.
const maxServers = 100
const serversAtOnce = 16
const timeoutMs = 3000

const serverShape = z.object({ role: z.string(), name: z.string() })
const callsShape = z
  .object({
    calls: z.array(
      z.object({
        from: serverShape.describe('The role is empty if the caller is not a server of the cluster'),
        to: serverShape,
        method: z.string(),
        path: z.string(),
        tls: z.boolean(),
        identity: z.string().describe('The user that the calls ran as'),
        calls: z.int(),
        failures: z.int().describe('Calls without a response, or with a status of at least 400'),
        lastTime: z.string(),
        lastStatus: z.int().nullable(),
        lastError: z.string().nullable(),
      }),
    ),
    missing: z
      .array(z.object({ server: z.string(), reason: z.string() }))
      .describe('Servers whose journals could not be read'),
    omittedServers: z
      .int()
      .describe('Number of servers whose journals were not read because there are too many'),
  })
  .meta({ title: 'CallsOfCluster' })

/** Returns the endpoint that shows which servers call which, as which user. */
export function callsRoute(context: Pick<ServiceContext, 'client' | 'discovery'>): Route {
  const answer = keepFor(keptMs, () => gatherCalls(context))
  return route({
    method: 'GET',
    path: '/svc/coordinator/v1/calls',
    access: state('READ'),
    summary: `Summarize the most recent calls between servers of the cluster: who called whom, as which user, how often, and with which result. Reads the journals of up to ${maxServers} servers`,
    answers: [jsonAnswer(callsShape)],
    handle: () => answer(),
  })
}

async function gatherCalls({ client, discovery }: Pick<ServiceContext, 'client' | 'discovery'>) {
  await discovery.refresh()
  // Historicals last, because there may be very many of them.
  const order = [...roles.filter((role) => role !== 'historical'), 'historical' as const]
  const servers = order.flatMap((role) => discovery.nodes(role))
  const limit = createConcurrencyLimit(serversAtOnce)
  const journals: CallJournal[] = []
  const missing: { server: string; reason: string }[] = []
  const read = async (server: DiscoveredNode): Promise<void> => {
    try {
      const call = { method: 'GET', path: callJournalPath, timeoutMs } as const
      const calls = await client.call<RecordedCall[]>(server.baseUrl, call)
      journals.push({ server, calls })
    } catch (error) {
      missing.push({ server: `${server.role} ${server.name}`, reason: describeError(error) })
    }
  }
  const chosen = servers.slice(0, maxServers)
  await Promise.all(chosen.map((server) => limit(() => read(server))))
  return { calls: groupCalls(journals, servers), missing, omittedServers: servers.length - chosen.length }
}
