import { notFound } from '@svc/domain/failure'
import type { RefusedHandshake, RefusedRequest } from '@svc/shared/http'
import { gatherFromServers } from '../calls/index.ts'
import type { ClusterClient } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'

/** Where to read what servers refused: the servers of a home, or those that a router reaches. */
export type RefusalSource = { readonly home: HomeLayout } | { readonly client: ClusterClient }

/** A refusal, and the server that recorded it. */
export type Recorded<Refusal> = Refusal & { readonly instance: string }

/** Returns the last refused handshakes, newest first, or those with an ID. Throws notFound if none has the ID. */
export const refusedHandshakes = (
  source: RefusalSource,
  id: string | undefined,
): Promise<Recorded<RefusedHandshake>[]> => read(source, 'refusedHandshakes', 'rejected handshake', id)

/** Returns the last refused requests, newest first, or those with an ID. Throws notFound if none has the ID. */
export const refusedRequests = (
  source: RefusalSource,
  id: string | undefined,
): Promise<Recorded<RefusedRequest>[]> => read(source, 'refusedRequests', 'refused request', id)

// A router reaches its own journal and those of the leaders.
const instances = { router: '', coordinator: '/proxy/coordinator', overlord: '/proxy/overlord' }

async function read<Refusal extends { readonly time: string }>(
  source: RefusalSource,
  journal: string,
  thing: string,
  id: string | undefined,
): Promise<Recorded<Refusal>[]> {
  const path = `/svc/internal/v1/${journal}${id === undefined ? '' : `?id=${encodeURIComponent(id)}`}`
  const found =
    'home' in source
      ? (await gatherFromServers<Refusal>(source.home, path)).entries
      : await readThroughRouter<Refusal>(source.client, path)
  if (id !== undefined && found.length === 0)
    throw notFound(
      `No server has recorded a ${thing} with the ID [${id}]. Each server keeps only the last 1,000 ${thing}s, and only until it stops.`,
    )
  return [...found]
}

async function readThroughRouter<Refusal extends { readonly time: string }>(
  client: ClusterClient,
  path: string,
): Promise<Recorded<Refusal>[]> {
  const found = await Promise.all(
    Object.entries(instances).map(async ([instance, prefix]) => {
      const entries = (await client.send('GET', `${prefix}${path}`)) as Refusal[]
      return entries.map((entry) => ({ instance, ...entry }))
    }),
  )
  return found.flat().sort((a, b) => (a.time < b.time ? 1 : -1))
}
