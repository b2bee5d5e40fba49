import type { Call } from '@svc/shared/http'
import type { HomeLayout } from '../home/index.ts'
import { type Gathered, gatherFromServers } from './gather-from-servers.ts'

/** Returns the last calls of all servers of a home, or of one. Throws a Failure if there is no such server. */
export async function gatherCalls(
  home: HomeLayout,
  count: number,
  only: string | undefined,
): Promise<Gathered<Call>> {
  const { entries, missing } = await gatherFromServers<Call>(home, `/svc/internal/v1/calls?count=${count}`, {
    only,
  })
  return { entries: entries.slice(0, count), missing }
}
