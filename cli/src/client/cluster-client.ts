import {
  conflict,
  type Failure,
  forbidden,
  invalidInput,
  notFound,
  timedOut,
  unauthorized,
  unavailable,
} from '@svc/domain/failure'
import type { HomeLayout } from '../home/index.ts'
import { accessToCluster, type ClusterAccess, sendTo } from './cluster-access.ts'
import { notReady } from './connection-error.ts'
import { checkRouter, headersAt, type InterfaceName, isMissingPath, pathAt } from './interface-name.ts'
import { neededPermission } from './needed-permission.ts'
import { messageIn, type ServiceAnswer } from './request.ts'

/** Sends requests to the router of one cluster. Paths are those of svc, even if the cluster is Druid's. */
export interface ClusterClient {
  readonly routerUrl: string
  readonly interfaceName: InterfaceName
  /**
   * Sends a request and returns the body of the answer. Throws a Failure with the message of the answer: `unavailable` or
   * `timedOut` if a retry may help, otherwise one that matches the status.
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

/** A client for the cluster that is running in a home, logged in as its admin. Throws a Failure if none is. */
export function connectToCluster(home: HomeLayout): ClusterClient {
  return clientOf(accessToCluster(home))
}

/** A client for a cluster. */
export function clientOf(access: ClusterAccess): ClusterClient {
  const { routerUrl, interfaceName } = access
  const request: ClusterClient['request'] = async (method, path, body, headers = {}) => {
    const requested = pathAt(interfaceName, routerUrl, path)
    const answer = await sendTo(access, {
      method,
      path: requested,
      body,
      headers: headersAt(interfaceName, headers),
    })
    if (answer.status >= 200 && answer.status <= 299) return answer
    await checkMissingPath(access, answer.status, messageIn(answer))
    const [place = ''] = requested.split('?', 1)
    const message = `${messageIn(answer) ?? statusText(answer.status, method, path)} (${method} ${place})`
    throw rejectionOf(answer.status, message, access)
  }
  return {
    routerUrl,
    interfaceName,
    request,
    send: async (method, path, body, headers) => (await request(method, path, body, headers)).body,
  }
}

/** Throws invalidInput if an error says that a path is missing, and the server is not a router. */
export async function checkMissingPath(
  access: ClusterAccess,
  status: number,
  message: string | undefined,
): Promise<void> {
  if (!isMissingPath(status, message)) return
  const { routerUrl, interfaceName } = access
  await checkRouter(
    routerUrl,
    interfaceName,
    async (path) => (await sendTo(access, { method: 'GET', path })).status,
  )
}

/** What is wrong if an answer does not say it, like those of Druid to users without a permission. */
function statusText(status: number, method: string, path: string): string {
  const permission = status === 403 ? neededPermission(method, path) : undefined
  return permission === undefined ? `status ${status}` : `Missing permission ${permission}`
}

const kindOfStatus: Readonly<Record<number, (message: string) => Failure>> = {
  400: invalidInput,
  403: forbidden,
  404: notFound,
  408: timedOut,
  // A condition such as the policy for rules, or that someone can still change users, is not met.
  409: (message) => conflict(message, { status: '409' }),
  // A condition of the request was not met.
  412: forbidden,
  504: timedOut,
}

/** The Failure for an answer with an error status. */
export function rejectionOf(
  status: number,
  message: string,
  { rejectedLogin }: Pick<ClusterAccess, 'rejectedLogin'>,
): Failure {
  if (status === 401) return unauthorized(rejectedLogin)
  // A server that is starting, or that cannot reach what it needs.
  if (status === 503) return unavailable(message, notReady)
  const kind = kindOfStatus[status] ?? (status < 500 ? conflict : unavailable)
  return kind(message)
}
