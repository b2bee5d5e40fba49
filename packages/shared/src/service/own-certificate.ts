import { request } from 'node:https'
import { describeError } from '@svc/domain/failure'
import { ownCallPath } from '../faults/index.ts'
import type { AnnouncedNode } from '../postgres/index.ts'
import { createTroubleLog, growingDelay, type Logger, type Readiness, startLoop } from '../runtime/index.ts'
import type { FollowedStores } from '../tls/index.ts'

const checkTimeoutMs = 5000

// Certificates run out, and so do lists of revoked ones, without anybody touching a file.
const soundPeriodMs = 3000

// A server that is known is withdrawn only when a second look agrees with the first: a file may be half written, and a
// busy server may miss its own call.
const secondLookMs = 500

/** The watch over whether other servers can connect to this one. */
export interface OwnCertificate {
  /** Resolves when they can. */
  readonly holds: Promise<void>
  stop(): Promise<void>
}

/**
 * Watches whether the other servers can connect to this one, as far as it can tell: it calls itself as it calls them.
 * Looks now and then, and whenever a store changes; while they cannot, the reason is told and looked at again at
 * growing distances. `onChange` is told when what was so before is so no longer.
 */
export function watchOwnCertificate(
  { host, tlsPort }: AnnouncedNode,
  stores: FollowedStores,
  readiness: Readiness,
  logger: Logger,
  onChange: (holds: boolean) => void,
): OwnCertificate {
  if (tlsPort === null) return { holds: Promise.resolve(), stop: async () => undefined }
  // An error: nothing can be served, and whoever asks may not even get an answer.
  const trouble = createTroubleLog({
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
    readiness.setTrouble('certificate', problem)
    const before = held
    held = problem === undefined
    readiness.setReachable(held)
    if (before !== undefined && before !== held) onChange(held)
    if (problem !== undefined) {
      trouble.tell(problem)
      return delay.next()
    }
    trouble.over('The certificate of this server holds now')
    delay.reset()
    holds.resolve()
    return soundPeriodMs
  }

  const loop = startLoop(
    soundPeriodMs,
    async () => {
      const found = stores.ownProblem() ?? (await findProblem(host, tlsPort, stores))
      if (typeof found === 'object' && held === true) return soundPeriodMs
      const problem = typeof found === 'object' ? found.undecided : found
      const isNew = problem !== undefined && seen === undefined
      seen = problem
      return held === true && isNew ? secondLookMs : take(problem)
    },
    (error) => logger.error('The certificate of this server cannot be looked at', { error: String(error) }),
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
 * A call that ended without a word about this server: it may be too busy for its own call, or the name server may be
 * away. Whoever is known stays known.
 */
interface Undecided {
  readonly undecided: string
}

/** Why a call of this server to itself does not come through; undefined where it does. */
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
        ? leadsElsewhere(host, 'nobody answers there')
        : `This server does not answer its own call on port [${port}]`
      resolve({ undecided })
      sent.destroy()
    })
    sent.on('error', (error) => resolve(ownCallProblem(error, host, client.cert !== undefined)))
    sent.end()
  })
}

const leadsElsewhere = (host: string, reason: string): string =>
  `The name [${host}] of [svc.host] does not lead to this server (${reason}); other servers could not call it`

// What connecting fails with when a name leads nowhere, or to where nobody listens.
const namesNobody = new Set(['ENOTFOUND', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'])

/** Why a call of the server `host` to itself has failed; `showsCertificate`: whether it shows one as a client. */
export function ownCallProblem(error: unknown, host: string, showsCertificate: boolean): string | Undecided {
  const { code = '' } = error as NodeJS.ErrnoException
  const reason = code === '' ? describeError(error) : `${describeError(error)}, ${code}`
  if (namesNobody.has(code)) return leadsElsewhere(host, reason)
  if (code === 'EAI_AGAIN') return { undecided: leadsElsewhere(host, reason) }
  // What a server does with a client that it refuses is to close the connection.
  if (/^E[A-Z]+$/.test(code)) {
    return showsCertificate
      ? `Calls with the certificate of [svc.client.https.keyStorePath] of this server are refused (${reason})`
      : `Calls of this server are refused (${reason}): it shows no certificate as a client, as [svc.client.https.keyStorePath] is not set, and asks for one by [svc.server.https.requireClientCertificate]`
  }
  return `The certificate of [svc.server.https.keyStorePath] of this server does not hold for its own [svc.client.https.trustStorePath] and [svc.client.https.crlPath] (${reason}); other servers could not call it`
}
