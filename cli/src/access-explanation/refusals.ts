import {
  type Recorded,
  type RefusedHandshake,
  type RefusedRequest,
  refusalsAtRouter,
} from '@svc/domain/access'
import { Failure, notFound, unavailable } from '@svc/domain/failure'
import { gatherFromServers } from '../calls/index.ts'
import {
  type ClusterClient,
  connectionContext,
  describeConnectionError,
  hintFor,
  type Login,
} from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'

/** Where to read what servers refused: the servers of a home, or those that a router reaches. */
export type RefusalSource =
  | { readonly home: HomeLayout; readonly login: Login }
  | { readonly client: ClusterClient }

/** Returns the last refused handshakes, newest first, or those with an ID. Throws notFound if none has the ID. */
export const refusedHandshakes = (
  source: RefusalSource,
  id: string | undefined,
): Promise<Recorded<RefusedHandshake>[]> => read(source, 'refusedHandshakes', 'refused handshake', id)

/** Returns the last refused requests, newest first, or those with an ID. Throws notFound if none has the ID. */
export const refusedRequests = (
  source: RefusalSource,
  id: string | undefined,
): Promise<Recorded<RefusedRequest>[]> => read(source, 'refusedRequests', 'refused request', id)

async function read<Refusal extends { readonly time: string }>(
  source: RefusalSource,
  journal: string,
  thing: string,
  id: string | undefined,
): Promise<Recorded<Refusal>[]> {
  const path = `/svc/internal/v1/${journal}${id === undefined ? '' : `?id=${encodeURIComponent(id)}`}`
  const found =
    'home' in source
      ? await refusalsInHome<Refusal>(source.home, path, source.login)
      : await refusalsAtRouter(path, async (at) => (await source.client.send('GET', at)) as Refusal[])
  if (id !== undefined && found.length === 0)
    throw notFound(
      `No server has recorded a ${thing} with the ID [${id}]. Each server keeps only the last 1,000 ${thing}s, and only until it stops.`,
    )
  return [...found]
}

/** Reads the journals of all servers of a home. Throws if one of them fails and the others have recorded nothing. */
async function refusalsInHome<Refusal extends { readonly time: string }>(
  home: HomeLayout,
  path: string,
  login: Login,
): Promise<readonly Recorded<Refusal>[]> {
  const { entries, missing } = await gatherFromServers<Refusal>(home, path, { login })
  const [failed] = missing
  if (failed !== undefined && entries.length === 0) throw failedQuery(failed.instance, failed.error)
  return entries
}

/** The Failure for a server whose journal could not be read. */
function failedQuery(instance: string, error: unknown): Failure {
  if (error instanceof Failure) return error
  const message = `Failed to query ${instance}: ${describeConnectionError(error)}${hintFor(error, '')}`
  return unavailable(message, connectionContext(error))
}
