import { invalidInput } from '@svc/domain/failure'
import {
  accessInHome,
  errorMessageOf,
  type Login,
  notRunning,
  rejectionOf,
  sendRequest,
} from '../client/index.ts'
import { type HomeLayout, processesOf, readRunFile } from '../home/index.ts'

/** Entries of the journals of several servers. */
export interface Gathered<Entry> {
  /** Each with the instance that recorded it, newest first. */
  readonly entries: readonly (Entry & { readonly instance: string })[]
  /** The servers that could not be queried, each with the reason. */
  readonly missing: readonly { readonly instance: string; readonly error: unknown }[]
}

/**
 * Returns the entries of a journal of all servers of a home, or of one, as its administrator or with another login. `path` is the
 * endpoint of the journal at each server. Throws a Failure if there is no such server.
 */
export async function gatherFromServers<Entry extends { readonly time: string }>(
  home: HomeLayout,
  path: string,
  { only, login = {} }: { readonly only?: string | undefined; readonly login?: Login } = {},
): Promise<Gathered<Entry>> {
  const run = readRunFile(home)
  const servers = processesOf(home).filter(({ url }) => url.startsWith('http'))
  if (run === undefined || servers.length === 0) throw notRunning(home)
  const selected = servers.filter(({ instance }) => only === undefined || instance === only)
  if (selected.length === 0)
    throw invalidInput(
      `Invalid value [${only}] for [--instance]: expected one of [${servers.map(({ instance }) => instance).join(', ')}]`,
    )
  const { rejectedLogin, trusted, credentials } = accessInHome(home, run, login)
  const entries: (Entry & { readonly instance: string })[] = []
  const missing: { instance: string; error: unknown }[] = []
  await Promise.all(
    selected.map(async ({ instance, url }) => {
      try {
        const answer = await sendRequest({ url: `${url}${path}`, trusted, credentials })
        if (answer.status !== 200) throw rejectionOf(answer.status, errorMessageOf(answer), { rejectedLogin })
        entries.push(...(answer.body as Entry[]).map((entry) => ({ instance, ...entry })))
      } catch (error) {
        missing.push({ instance, error })
      }
    }),
  )
  entries.sort((a, b) => (a.time < b.time ? 1 : -1))
  return { entries, missing }
}
