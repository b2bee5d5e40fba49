import { readFileSync } from 'node:fs'
import { conflict, describeError, type Failure, unavailable } from '@svc/domain/failure'
import { type HomeLayout, readRunFile, readSecret } from '../home/index.ts'
import { trustStoreFile } from '../pki/index.ts'
import { isRunning } from '../processes/index.ts'
import { errorMessageOf, type ServiceAnswer, sendRequest } from './request.ts'

/** Asks the router of one cluster as its admin. */
export interface ClusterClient {
  readonly routerUrl: string
  /**
   * Sends a request and returns the body of the answer. Throws a Failure with the answer's own message: a conflict
   * where the request was refused, unavailable where asking again may help.
   */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<unknown>
  /** The same with the whole answer. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ServiceAnswer>
}

/** How the router of one cluster is reached as its admin. */
export interface ClusterAccess {
  readonly routerUrl: string
  /** The certificates to trust, PEM; undefined without TLS. */
  readonly trusted: string | undefined
  /** `name:password`; undefined where no login is needed. */
  readonly credentials: string | undefined
}

/** How the cluster that runs in a home is reached. Throws a Failure when none does. */
export function accessToCluster(home: HomeLayout): ClusterAccess {
  const run = readRunFile(home)
  if (!run || !isRunning(run.supervisor)) {
    throw conflict(`No cluster runs in home [${home.root}]: start it with ./svc up`)
  }
  const { routerUrl } = run
  const trusted = routerUrl.startsWith('https:') ? readFileSync(trustStoreFile(home.pki), 'utf8') : undefined
  const password = run.profile === 'secure' ? readSecret(home, 'admin-password') : undefined
  return { routerUrl, trusted, credentials: password === undefined ? undefined : `admin:${password}` }
}

/** A client for the cluster that runs in a home. Throws a Failure when none does. */
export function connectToCluster(home: HomeLayout): ClusterClient {
  const { routerUrl, trusted, credentials } = accessToCluster(home)
  const ask: ClusterClient['ask'] = async (method, path, body, headers) => {
    const answer = await sendRequest({
      method,
      url: `${routerUrl}${path}`,
      trusted,
      credentials,
      body,
      ...(headers ? { headers } : {}),
    }).catch((error: unknown) => {
      throw unavailable(`The router at [${routerUrl}] cannot be reached: ${describeError(error)}`)
    })
    if (answer.status < 200 || answer.status > 299) {
      throw refusalOf(answer, `${method} ${path}`)
    }
    return answer
  }
  return {
    routerUrl,
    ask,
    send: async (method, path, body, headers) => (await ask(method, path, body, headers)).body,
  }
}

function refusalOf(answer: ServiceAnswer, request: string): Failure {
  if (answer.status === 401) {
    return conflict(
      `${request}: the cluster does not take the admin password of this home; it may have been changed since`,
    )
  }
  const message = `${request}: ${errorMessageOf(answer)}`
  return answer.status < 500 ? conflict(message) : unavailable(message)
}
