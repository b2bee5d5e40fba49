import {
  type Recorded,
  type RefusedHandshake,
  type RefusedRequest,
  refusalsAtRouter,
} from '@svc/domain/access'
import { useQuery } from '@tanstack/react-query'
import { fetchJson } from '../session/index.ts'
import { retryMs } from './refetching.ts'

/** Reads the journals that the router reaches, newest entries first. */
const readJournals = <Refusal extends { readonly time: string }>(
  journal: string,
  query: string,
): Promise<Recorded<Refusal>[]> =>
  refusalsAtRouter(`/svc/internal/v1/${journal}?${query}`, (path) => fetchJson<Refusal[]>(path))

const maxListed = 20

/** The last handshakes that the router and the leaders refused, newest first. */
export const useRefusedHandshakes = () =>
  useQuery({
    queryKey: ['refusedHandshakes'],
    queryFn: async () =>
      (await readJournals<RefusedHandshake>('refusedHandshakes', `count=${maxListed}`)).slice(0, maxListed),
    refetchInterval: retryMs,
  })

/** The refused requests with an ID: usually one, and none if no journal has it anymore. */
export const useRefusedRequest = (id: string | undefined) =>
  useQuery({
    queryKey: ['refusedRequest', id],
    queryFn: () => readJournals<RefusedRequest>('refusedRequests', `id=${encodeURIComponent(id ?? '')}`),
    enabled: id !== undefined,
    retry: false,
  })

/** The last logins that failed at the router and the leaders, newest first. */
export const useFailedLogins = () =>
  useQuery({
    queryKey: ['failedLogins'],
    queryFn: async () =>
      (await readJournals<RefusedRequest>('refusedRequests', 'count=200'))
        .filter(({ status, user }) => status !== 403 && user !== '')
        .slice(0, maxListed),
    refetchInterval: retryMs,
  })
