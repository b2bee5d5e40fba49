import { readFileSync } from 'node:fs'
import { conflict, describeError } from '@svc/domain/failure'
import type { Call } from '@svc/shared/calls'
import { errorMessageOf, sendRequest } from '../client/index.ts'
import { type HomeLayout, processesOf, readRunFile, readSecret } from '../home/index.ts'
import { trustStoreFile } from '../pki/index.ts'

/** A call, and the instance in whose journal it stands. */
export interface NotedCall extends Call {
  readonly instance: string
}

/** What the servers of a home answered. */
export interface GatheredCalls {
  /** Newest first. */
  readonly calls: readonly NotedCall[]
  /** The servers that could not be asked, each with the reason. */
  readonly missing: readonly { readonly instance: string; readonly reason: string }[]
}

/** Asks the servers of a home, or one of them, for their last calls. Throws a Failure where there is none to ask. */
export async function gatherCalls(
  home: HomeLayout,
  count: number,
  only: string | undefined,
): Promise<GatheredCalls> {
  const run = readRunFile(home)
  const servers = processesOf(home).filter(({ url }) => url.startsWith('http'))
  const asked = servers.filter(({ instance }) => only === undefined || instance === only)
  if (asked.length === 0) {
    throw conflict(
      only === undefined
        ? `No cluster runs in home [${home.root}]: start it with ./svc up`
        : `No server [${only}] runs in home [${home.root}]; there are [${servers.map(({ instance }) => instance).join(', ')}]`,
    )
  }
  const isSecure = run?.profile === 'secure'
  const password = isSecure ? readSecret(home, 'admin-password') : undefined
  const credentials = password === undefined ? undefined : `admin:${password}`
  const calls: NotedCall[] = []
  const missing: { instance: string; reason: string }[] = []
  await Promise.all(
    asked.map(async ({ instance, url }) => {
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
