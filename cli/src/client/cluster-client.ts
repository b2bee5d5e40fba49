import { readFileSync } from 'node:fs'
import { conflict, describeError, unavailable } from '@svc/domain/failure'
import { type HomeLayout, readRunFile, readSecret } from '../home/index.ts'
import { trustStoreFile } from '../pki/index.ts'
import { isRunning } from '../processes/index.ts'
import { errorMessageOf, sendRequest } from './request.ts'

/** Asks the router of one cluster as its admin. */
export interface ClusterClient {
  readonly routerUrl: string
  /** Sends a request and returns the body of the answer. Throws a Failure with the answer's own message. */
  send(method: string, path: string, body?: unknown): Promise<unknown>
}

/** A client for the cluster that runs in a home. Throws a Failure when none does. */
export function connectToCluster(home: HomeLayout): ClusterClient {
  const run = readRunFile(home)
  if (!run || !isRunning(run.supervisor)) {
    throw conflict(`No cluster runs in home [${home.root}]: start it with ./svc up`)
  }
  const { routerUrl } = run
  const trusted = routerUrl.startsWith('https:') ? readFileSync(trustStoreFile(home.pki), 'utf8') : undefined
  const password = run.profile === 'secure' ? readSecret(home, 'admin-password') : undefined
  const credentials = password === undefined ? undefined : `admin:${password}`
  return {
    routerUrl,
    send: async (method, path, body) => {
      const answer = await sendRequest({
        method,
        url: `${routerUrl}${path}`,
        trusted,
        credentials,
        body,
      }).catch((error: unknown) => {
        throw unavailable(`The router at [${routerUrl}] cannot be reached: ${describeError(error)}`)
      })
      if (answer.status < 200 || answer.status > 299) {
        throw unavailable(`${method} ${path}: ${errorMessageOf(answer)}`)
      }
      return answer.body
    },
  }
}
