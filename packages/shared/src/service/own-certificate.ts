import { request } from 'node:https'
import { describeError } from '@svc/domain/failure'
import { ownCallPath } from '../faults/index.ts'
import type { AnnouncedNode } from '../postgres/index.ts'
import { createProblemLog, growingDelay, type Logger, type Readiness, startLoop } from '../runtime/index.ts'
import type { FollowedStores } from '../tls/index.ts'

const checkTimeoutMs = 5000

// Certificates and revocation lists expire without any change of a file, so check them periodically.
const recheckPeriodMs = 3000

// An announced server is withdrawn only if a second check confirms the problem: a file may be half written, or a busy
// server may miss its own call.
const retryMs = 500

/** Checks whether other servers can connect to this one. */
export interface OwnCertificate {
  /** Resolves when they can connect. */
  readonly holds: Promise<void>
  stop(): Promise<void>
}

/**
 * Checks whether other servers can connect to this one: the server calls itself the same way as it calls others. Checks
 * periodically and whenever a store changes. While there is a problem, reports it and checks at growing intervals.
 * Calls `onChange` when the result changes.
 */
export function watchOwnCertificate(
  { host, tlsPort }: AnnouncedNode,
  stores: FollowedStores,
  readiness: Readiness,
  logger: Logger,
  onChange: (holds: boolean) => void,
): OwnCertificate {
  if (tlsPort === null) return { holds: Promise.resolve(), stop: async () => undefined }
  // Logged as errors: the server cannot serve, and its callers may not even get a response.
  const problemLog = createProblemLog({
    error: (...entry) => logger.error(...entry),
    warn: (...entry) => logger.error(...entry),
    info: (...entry) => logger.info(...entry),
    debug: (...entry) => logger.debug(...entry),
  })
  const delay = growingDelay(250, 10_000)
  const holds = Promise.withResolvers<void>()
  let held: boolean | undefined
  let seen: string | undefined

  function take(problem: string | undefined): number {
    readiness.setProblem('certificate', problem)
    const before = held
    held = problem === undefined
    readiness.setReachable(held)
    if (before !== undefined && before !== held) onChange(held)
    if (problem !== undefined) {
      problemLog.report(problem)
      return delay.next()
    }
    problemLog.over('The certificate of this server is now valid')
    delay.reset()
    holds.resolve()
    return recheckPeriodMs
  }

  const loop = startLoop(
    recheckPeriodMs,
    async () => {
      const found = stores.ownProblem() ?? (await findProblem(host, tlsPort, stores))
      if (typeof found === 'object' && held === true) return recheckPeriodMs
      const problem = typeof found === 'object' ? found.undecided : found
      const isNew = problem !== undefined && seen === undefined
      seen = problem
      return held === true && isNew ? retryMs : take(problem)
    },
    (error) => logger.error('Failed to check the certificate of this server', { error: String(error) }),
  )
  const unsubscribe = stores.onChange(loop.wake)
  return {
    holds: holds.promise,
    stop: async () => {
      unsubscribe()
      await loop.stop()
    },
  }
}

/**
 * A call without a conclusive result: the server may be too busy for its own call, or DNS may be unavailable. An
 * announced server stays announced.
 */
interface Undecided {
  readonly undecided: string
}

/** Returns why a call of this server to itself fails; undefined if it succeeds. */
async function findProblem(
  host: string,
  port: number,
  stores: FollowedStores,
): Promise<string | Undecided | undefined> {
  const { client } = stores.current()
  return await new Promise((resolve) => {
    const sent = request(
      { host, port, path: ownCallPath, agent: false, timeout: checkTimeoutMs, ...client },
      (response) => {
        response.resume()
        resolve(undefined)
      },
    )
    sent.on('timeout', () => {
      const undecided = sent.socket?.connecting
        ? resolvesElsewhere(host, 'no response')
        : `This server does not respond to its own calls on port [${port}]`
      resolve({ undecided })
      sent.destroy()
    })
    sent.on('error', (error) => resolve(ownCallProblem(error, host, client.cert !== undefined)))
    sent.end()
  })
}

const resolvesElsewhere = (host: string, reason: string): string =>
  `Host [${host}] from [svc.host] does not point to this server (${reason}), so other servers cannot call this server`

// Errors of a connection to an unknown host, or to a host that does not listen.
const unreachableCodes = new Set(['ENOTFOUND', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'])

/**
 * Returns why a call of the server `host` to itself failed; `showsCertificate`: whether it presents a client
 * certificate.
 */
export function ownCallProblem(error: unknown, host: string, showsCertificate: boolean): string | Undecided {
  const { code = '' } = error as NodeJS.ErrnoException
  const reason = code === '' ? describeError(error) : `${describeError(error)}, ${code}`
  if (unreachableCodes.has(code)) return resolvesElsewhere(host, reason)
  if (code === 'EAI_AGAIN') return { undecided: resolvesElsewhere(host, reason) }
  // A server rejects a client by closing the connection.
  if (/^E[A-Z]+$/.test(code)) {
    return showsCertificate
      ? `This server rejects its own client certificate from [svc.client.https.keyStorePath] (${reason})`
      : `This server rejects its own calls (${reason}): [svc.server.https.requireClientCertificate] requires a client certificate, but [svc.client.https.keyStorePath] is not set`
  }
  return `Other servers cannot call this server, because its certificate in [svc.server.https.keyStorePath] is not valid: ${reason} (checked with [svc.client.https.trustStorePath] and [svc.client.https.crlPath])`
}
