import { readFileSync } from 'node:fs'
import { conflict, describeError } from '@svc/domain/failure'
import type { Call } from '@svc/shared/http'
import { errorMessageOf, sendRequest } from '../client/index.ts'
import { type HomeLayout, processesOf, readRunFile, readSecret } from '../home/index.ts'
import { trustStoreFile } from '../pki/index.ts'

/** A call, and the instance that recorded it. */
export interface NotedCall extends Call {
  readonly instance: string
}

/** The recorded calls of the servers of a home. */
export interface GatheredCalls {
  /** Newest first. */
  readonly calls: readonly NotedCall[]
  /** The servers that could not be queried, each with the reason. */
  readonly missing: readonly { readonly instance: string; readonly reason: string }[]
}

/** Returns the last calls of all servers of a home, or of one. Throws a Failure if there is no such server. */
export async function gatherCalls(
  home: HomeLayout,
  count: number,
  only: string | undefined,
): Promise<GatheredCalls> {
  const run = readRunFile(home)
  const servers = processesOf(home).filter(({ url }) => url.startsWith('http'))
  const selected = servers.filter(({ instance }) => only === undefined || instance === only)
  if (selected.length === 0) {
    throw conflict(
      only === undefined
        ? `No cluster is running in [${home.root}]. Start it with ./svc up.`
        : `Invalid value [${only}] for [--instance]: expected one of [${servers.map(({ instance }) => instance).join(', ')}]`,
    )
  }
  const isSecure = run?.profile === 'secure'
  const password = isSecure ? readSecret(home, 'admin-password') : undefined
  const credentials = password === undefined ? undefined : `admin:${password}`
  const calls: NotedCall[] = []
  const missing: { instance: string; reason: string }[] = []
  await Promise.all(
    selected.map(async ({ instance, url }) => {
      const trusted = url.startsWith('https:') ? readFileSync(trustStoreFile(home.pki), 'utf8') : undefined
      try {
        const answer = await sendRequest({
          url: `${url}/svc/internal/v1/calls?count=${count}`,
          trusted,
          credentials,
        })
        if (answer.status !== 200) throw new Error(errorMessageOf(answer))
        calls.push(...(answer.body as Call[]).map((call) => ({ instance, ...call })))
      } catch (error) {
        missing.push({ instance, reason: describeError(error) })
      }
    }),
  )
  calls.sort((a, b) => (a.time < b.time ? 1 : -1))
  return { calls: calls.slice(0, count), missing }
}
