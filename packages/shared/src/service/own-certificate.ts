import { request } from 'node:https'
import { describeError } from '@svc/domain/failure'
import type { AnnouncedNode } from '../postgres/index.ts'
import { createTroubleLog, growingDelay, type Logger, type Readiness } from '../runtime/index.ts'
import type { FollowedStores } from '../tls/index.ts'

const checkTimeoutMs = 5000

/**
 * Resolves when the other servers can connect to this one, as far as it can tell: it calls itself as it calls them. Until
 * then the reason is told, and looked at again at growing distances and whenever a store changes.
 */
export async function untilCertificateHolds(
  { host, tlsPort }: AnnouncedNode,
  stores: FollowedStores,
  readiness: Readiness,
  logger: Logger,
  stopping: AbortSignal,
): Promise<void> {
  if (tlsPort === null) return
  // An error: nothing can be served, and whoever asks may not even get an answer.
  const trouble = createTroubleLog({
    error: (...entry) => logger.error(...entry),
    warn: (...entry) => logger.error(...entry),
    info: (...entry) => logger.info(...entry),
    debug: (...entry) => logger.debug(...entry),
  })
  const delay = growingDelay(250, 10_000)
  while (!stopping.aborted) {
    const problem = await findProblem(host, tlsPort, stores)
    readiness.setTrouble('certificate', problem)
    if (problem === undefined) {
      trouble.over('The certificate of this server holds now')
      return
    }
    trouble.tell(problem)
    await untilChange(stores, delay.next(), stopping)
  }
}

/** Why a call of this server to itself does not come through; undefined where it does. */
async function findProblem(host: string, port: number, stores: FollowedStores): Promise<string | undefined> {
  const error = await new Promise<unknown>((resolve) => {
    const sent = request(
      {
        host,
        port,
        path: '/status/health',
        agent: false,
        timeout: checkTimeoutMs,
        ...stores.current().client,
      },
      (response) => {
        response.resume()
        resolve(undefined)
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`no answer within [${checkTimeoutMs}] ms`)))
    sent.on('error', resolve)
    sent.end()
  })
  if (error === undefined) return undefined
  const { code = '' } = error as NodeJS.ErrnoException
  const reason = code === '' ? describeError(error) : `${describeError(error)}, ${code}`
  // What a server does with a client that it refuses is to close the connection.
  return /^E[A-Z]+$/.test(code)
    ? `Calls with the certificate of [svc.client.https.keyStorePath] of this server are refused (${reason})`
    : `The certificate of [svc.server.https.keyStorePath] of this server does not hold for its own [svc.client.https.trustStorePath] and [svc.client.https.crlPath] (${reason}); other servers could not call it`
}

async function untilChange(stores: FollowedStores, mostMs: number, stopping: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, mostMs)
  const unsubscribe = stores.onChange(resolve)
  const stop = () => resolve()
  stopping.addEventListener('abort', stop)
  await promise
  stopping.removeEventListener('abort', stop)
  clearTimeout(timer)
  unsubscribe()
}
