import { readFileSync } from 'node:fs'
import { conflict, describeError, invalidInput } from '@svc/domain/failure'
import { errorMessageOf, notReady, sendRequest } from '../client/index.ts'
import { type HomeLayout, processesOf, readRunFile, readSecret } from '../home/index.ts'
import { trustStoreFile } from '../pki/index.ts'

/** Entries of the journals of several servers. */
export interface Gathered<Entry> {
  /** Each with the instance that recorded it, newest first. */
  readonly entries: readonly (Entry & { readonly instance: string })[]
  /** The servers that could not be queried, each with the reason. */
  readonly missing: readonly { readonly instance: string; readonly reason: string }[]
}

/**
 * Returns the entries of a journal of all servers of a home, or of one, as its administrator. `path` is the endpoint of
 * the journal at each server. Throws a Failure if there is no such server.
 */
export async function gatherFromServers<Entry extends { readonly time: string }>(
  home: HomeLayout,
  path: string,
  only?: string,
): Promise<Gathered<Entry>> {
  const run = readRunFile(home)
  const servers = processesOf(home).filter(({ url }) => url.startsWith('http'))
  const selected = servers.filter(({ instance }) => only === undefined || instance === only)
  if (selected.length === 0) {
    if (only === undefined)
      throw conflict(`No cluster is running in [${home.root}]. Start it with ./svc up.`, notReady)
    throw invalidInput(
      `Invalid value [${only}] for [--instance]: expected one of [${servers.map(({ instance }) => instance).join(', ')}]`,
    )
  }
  const isSecure = run?.profile === 'secure'
  const password = isSecure ? readSecret(home, 'admin-password') : undefined
  const credentials = password === undefined ? undefined : `admin:${password}`
  const entries: (Entry & { readonly instance: string })[] = []
  const missing: { instance: string; reason: string }[] = []
  await Promise.all(
    selected.map(async ({ instance, url }) => {
      const trusted = url.startsWith('https:') ? readFileSync(trustStoreFile(home.pki), 'utf8') : undefined
      try {
        const answer = await sendRequest({ url: `${url}${path}`, trusted, credentials })
        if (answer.status !== 200) throw new Error(errorMessageOf(answer))
        entries.push(...(answer.body as Entry[]).map((entry) => ({ instance, ...entry })))
      } catch (error) {
        missing.push({ instance, reason: describeError(error) })
      }
    }),
  )
  entries.sort((a, b) => (a.time < b.time ? 1 : -1))
  return { entries, missing }
}
