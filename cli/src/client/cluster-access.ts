import { readFileSync } from 'node:fs'
import { conflict, Failure, timedOut, unauthorized, unavailable } from '@svc/domain/failure'
import { type HomeLayout, homeArgument, type RunFile, readRunFile, readSecret } from '../home/index.ts'
import { trustStoreFile } from '../pki/index.ts'
import { isRunning } from '../processes/index.ts'
import { answeringServer } from './answering-server.ts'
import { parseClusterUrl } from './cluster-url.ts'
import { connectionContext, describeConnectionError, hintFor, notReady } from './connection-error.ts'
import { findInterface, type InterfaceName } from './interface-name.ts'
import { hasNoResponse, type ServiceAnswer, sendRequest } from './request.ts'

/** How to reach the router of one cluster, and as which user. */
export interface ClusterAccess {
  readonly routerUrl: string
  readonly interfaceName: InterfaceName
  /** The certificates to trust, PEM; undefined without TLS, or for those that the system trusts. */
  readonly trusted: string | undefined
  /** `name:password`; undefined if no login is required. */
  readonly credentials: string | undefined
  /** What is wrong and what to do if the cluster rejects the login. */
  readonly rejectedLogin: string
}

/** A login that replaces the one of a home. */
export interface Login {
  readonly credentials?: string | undefined
  readonly trusted?: string | undefined
}

const userOptions = 'Log in with --user and --password-file'
const wrongLogin = 'The cluster rejected the credentials: expected a valid --user and --password-file.'

/** How to reach the cluster that is running in a home, as its admin or with another login. Throws a Failure if none is. */
export function accessToCluster(home: HomeLayout, login: Login = {}): ClusterAccess {
  const run = readRunFile(home)
  if (!run || !isRunning(run.supervisor)) throw notRunning(home)
  return accessInHome(home, run, login)
}

/** The Failure for a home without a running cluster. */
export const notRunning = (home: HomeLayout): Failure =>
  conflict(
    `No cluster is running in [${home.root}]. Start it with ./svc up${homeArgument(home.root)}.`,
    notReady,
  )

/** How to reach the cluster of a home, even if its supervisor is gone. */
export function accessInHome(home: HomeLayout, run: RunFile, login: Login): ClusterAccess {
  const { routerUrl } = run
  const authority = routerUrl.startsWith('https:') ? () => readTrustStore(home) : () => undefined
  const password = run.profile === 'secure' ? readSecret(home, 'admin-password') : undefined
  const stored = password === undefined ? undefined : `admin:${password}`
  const rejected =
    stored === undefined
      ? `The cluster requires a login. ${userOptions}.`
      : `The cluster rejected the admin password stored in this home. The password might have been changed. ${userOptions}, or store the new password with ./svc password --set${homeArgument(home.root)}.`
  return {
    routerUrl,
    interfaceName: 'svc',
    trusted: login.trusted ?? authority(),
    credentials: login.credentials ?? stored,
    rejectedLogin: login.credentials === undefined ? rejected : wrongLogin,
  }
}

/** The certificate of the home. Throws a Failure if the first start has not created it yet. */
function readTrustStore(home: HomeLayout): string {
  try {
    return readFileSync(trustStoreFile(home.pki), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw conflict(`The cluster in [${home.root}] is still starting`, notReady)
  }
}

/** How to reach the cluster of a router, which svc or Druid runs. Throws a Failure if there is none at the URL. */
export async function accessToUrl(url: string, login: Login): Promise<ClusterAccess> {
  const routerUrl = parseClusterUrl(url)
  const { trusted, credentials } = login
  const rejectedLogin =
    credentials === undefined ? `The cluster at [${routerUrl}] requires a login. ${userOptions}.` : wrongLogin
  const access = { routerUrl, trusted, credentials, rejectedLogin }
  const interfaceName = await findInterface(routerUrl, async (path) => {
    const { status } = await sendTo(access, { method: 'GET', path })
    if (status === 401) throw unauthorized(rejectedLogin)
    return status
  })
  return { ...access, interfaceName }
}

/** One request to a router; `path` is the path at this cluster. */
export interface RouterRequest {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * How long to wait for an answer. Previews of large clusters with full tiers take long, because they simulate runs of the
 * coordinator: wait for them as long as the router does.
 */
export const answerTimeoutMs = (path: string): number => (path.includes('/rules/simulate') ? 60_000 : 10_000)

/** Sends a request to the router and returns any answer. Throws a Failure if there is none. */
export async function sendTo(
  { routerUrl, trusted, credentials }: Pick<ClusterAccess, 'routerUrl' | 'trusted' | 'credentials'>,
  { method, path, body, headers = {} }: RouterRequest,
): Promise<ServiceAnswer> {
  const timeoutMs = answerTimeoutMs(path)
  try {
    const url = `${routerUrl}${path}`
    return await sendRequest({ method, url, trusted, credentials, body, headers, timeoutMs })
  } catch (error) {
    const server = answeringServer(path)
    if (hasNoResponse(error) && server !== 'router')
      throw timedOut(
        `No response from the ${server} through the router at [${routerUrl}] within ${timeoutMs / 1000} s`,
      )
    throw failedConnection(routerUrl, error)
  }
}

/** The Failure for a router that could not be reached. */
export function failedConnection(routerUrl: string, error: unknown): Failure {
  const message = `Failed to reach the router at [${routerUrl}]: ${describeConnectionError(error)}${hintFor(error, routerUrl)}`
  if (error instanceof Failure && error.code === 'timedOut') return timedOut(message)
  return unavailable(message, connectionContext(error))
}
