import { readFileSync } from 'node:fs'
import { conflict, type Failure, unavailable } from '@svc/domain/failure'
import { type HomeLayout, readRunFile, readSecret } from '../home/index.ts'
import { trustStoreFile } from '../pki/index.ts'
import { isRunning } from '../processes/index.ts'
import { describeConnectionError } from './connection-error.ts'
import { errorMessageOf, type ServiceAnswer, sendRequest } from './request.ts'

/** Sends requests to the router of one cluster as its admin. */
export interface ClusterClient {
  readonly routerUrl: string
  /**
   * Sends a request and returns the body of the answer. Throws a Failure with the message of the answer: `conflict` if
   * the request was rejected, `unavailable` if a retry may help.
   */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<unknown>
  /** Like `send`, but returns the entire answer. */
  request(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ServiceAnswer>
}

/** How to reach the router of one cluster as its admin. */
export interface ClusterAccess {
  readonly routerUrl: string
  /** The certificates to trust, PEM; undefined without TLS. */
  readonly trusted: string | undefined
  /** `name:password`; undefined if no login is required. */
  readonly credentials: string | undefined
}

/** How to reach the cluster that is running in a home. Throws a Failure if none is. */
export function accessToCluster(home: HomeLayout): ClusterAccess {
  const run = readRunFile(home)
  if (!run || !isRunning(run.supervisor)) {
    throw conflict(`No cluster is running in [${home.root}]. Start it with ./svc up.`)
  }
  const { routerUrl } = run
  const trusted = routerUrl.startsWith('https:') ? readFileSync(trustStoreFile(home.pki), 'utf8') : undefined
  const password = run.profile === 'secure' ? readSecret(home, 'admin-password') : undefined
  return { routerUrl, trusted, credentials: password === undefined ? undefined : `admin:${password}` }
}

/** A client for the cluster that is running in a home. Throws a Failure if none is. */
export function connectToCluster(home: HomeLayout): ClusterClient {
  const { routerUrl, trusted, credentials } = accessToCluster(home)
  const request: ClusterClient['request'] = async (method, path, body, headers) => {
    const answer = await sendRequest({
      method,
      url: `${routerUrl}${path}`,
      trusted,
      credentials,
      body,
      ...(headers ? { headers } : {}),
    }).catch((error: unknown) => {
      throw unavailable(`Failed to reach the router at [${routerUrl}]: ${describeConnectionError(error)}`)
    })
    if (answer.status < 200 || answer.status > 299) {
      throw rejectionOf(answer, `${method} ${path.split('?', 1)[0]}`)
    }
    return answer
  }
  return {
    routerUrl,
    request,
    send: async (method, path, body, headers) => (await request(method, path, body, headers)).body,
  }
}

function rejectionOf(answer: ServiceAnswer, request: string): Failure {
  if (answer.status === 401)
    return conflict('The cluster rejected the stored admin password of this home. It may have been changed.')
  const message = `${errorMessageOf(answer)} (${request})`
  return answer.status < 500 ? conflict(message) : unavailable(message)
}
