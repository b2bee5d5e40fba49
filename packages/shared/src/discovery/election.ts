import {
  acquireLease,
  type Candidate,
  type Database,
  type LeaseAttempt,
  type Listener,
  leasesChannel,
  releaseLease,
  renewLease,
} from '../postgres/index.ts'
import type { Logger } from '../runtime/index.ts'
import { createProblemLog, startLoop } from '../runtime/index.ts'

/** Whether this server is the leader. */
export interface Election {
  /** The fencing token while this server is the leader; otherwise undefined. */
  term(): number | undefined
  /** Resolves when the first attempt has shown whether this server is the leader. */
  readonly settled: Promise<void>
  /** Steps down, so that another server can become leader immediately. */
  stop(): Promise<void>
}

/** Callbacks for gaining and losing leadership. */
export interface LeadershipChange {
  onGain(term: number): void
  onLoss(): void
}

/** How often other servers try to take over, and to find out whether they may lead, while they are not notified of releases. */
const triesPerLease = 25
// A lease may be about to expire in the metadata store, so that the next attempt would come too early.
const minRetryMs = 5

/**
 * Takes part in the leader election of a role. A server considers itself leader only until its lease expires on its own
 * clock, measured from before the request; the metadata store's clock decides when another server may take over. Others try
 * when the lease that they know expires, or when it is released. While `mayLead` returns false, this server steps down and
 * does not become leader.
 */
export function startElection(
  database: Database,
  candidate: Candidate,
  leaseMs: number,
  change: LeadershipChange,
  logger: Logger,
  mayLead: () => boolean = () => true,
): Election {
  const { role } = candidate
  const problemLog = createProblemLog(logger)
  const claim = createClaim(database, candidate, leaseMs)
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  const leadership = createLeadership((term) => {
    logger.warn('Lost leadership', { role, term })
    claim.mayBeHeld()
    change.onLoss()
  })
  const releases = followReleases(database, role, () => loop.wake())
  /** Returns when to try again if another server leads. */
  const acquire = async (): Promise<number | undefined> => {
    releases.start()
    const isNotified = releases.isNotified()
    const requestedAt = performance.now()
    const { term: gained, expiresInMs } = await claim.acquire()
    problemLog.over('Leader election recovered')
    settle()
    if (gained === undefined && isNotified) return Math.max(expiresInMs, minRetryMs)
    // If the answer was late, the lease has expired, and another server may be the leader by now.
    if (gained === undefined || performance.now() >= requestedAt + leaseMs) return leaseMs / triesPerLease
    leadership.begin(gained, requestedAt + leaseMs)
    logger.info('Became leader', { role, term: gained })
    change.onGain(gained)
    return undefined
  }
  const renew = async (held: number): Promise<void> => {
    const requestedAt = performance.now()
    if (await renewLease(database, candidate, held, leaseMs)) {
      problemLog.over('Leader election recovered')
      leadership.extend(requestedAt + leaseMs)
    } else leadership.end()
  }
  const loop = startLoop(
    leaseMs / 5,
    async () => {
      const term = leadership.unended()
      if (!mayLead()) {
        leadership.end()
        await claim.release()
        settle()
      } else if (term === undefined) return await acquire()
      else await renew(term)
      return leadership.unended() === undefined ? leaseMs / triesPerLease : undefined
    },
    (error) =>
      problemLog.report('Failed to acquire or renew the leader lease', { role, error: String(error) }),
  )
  return {
    settled,
    term: leadership.term,
    stop: async () => {
      await loop.stop()
      leadership.end()
      await claim.release().catch(() => undefined)
      await releases.close()
    },
  }
}

/**
 * The lease that the store may have for a candidate although it does not lead: an answer was lost or late, or a renewal took effect
 * after the lease had expired here. The candidate releases it before it tries again, so that others may lead.
 */
function createClaim(database: Database, candidate: Candidate, leaseMs: number) {
  let mayBeHeld = false
  const release = async (): Promise<void> => {
    if (!mayBeHeld) return
    await releaseLease(database, candidate)
    mayBeHeld = false
  }
  return {
    release,
    mayBeHeld: (): void => {
      mayBeHeld = true
    },
    acquire: async (): Promise<LeaseAttempt> => {
      await release()
      mayBeHeld = true
      const attempt = await acquireLease(database, candidate, leaseMs)
      mayBeHeld = attempt.term !== undefined
      return attempt
    },
  }
}

/** Calls back when a lease of a role has been released, or may have been. */
function followReleases(database: Database, role: string, onRelease: () => void) {
  let listener: Listener | undefined
  let isStarting = false
  let isClosed = false
  const listen = async (): Promise<void> => {
    const started = await database.listen(leasesChannel, (released) => {
      if (released === undefined || released === role) onRelease()
    })
    if (isClosed) await started.close()
    else listener = started
  }
  return {
    /** Starts to listen unless it does, without waiting: a connection that hangs does not delay an attempt to lead. */
    start: (): void => {
      if (isStarting || listener !== undefined) return
      isStarting = true
      const end = (): void => {
        isStarting = false
      }
      listen().then(end, end)
    },
    /** Whether this server is notified of releases. */
    isNotified: (): boolean => listener !== undefined,
    close: async (): Promise<void> => {
      isClosed = true
      await listener?.close()
    },
  }
}

/** Creates the leadership of a server: a term, which ends on the server's own clock unless it is extended. */
function createLeadership(onEnd: (term: number) => void) {
  let term: number | undefined
  let untilMs = 0
  let expiry: NodeJS.Timeout | undefined
  const extend = (end: number): void => {
    if (term === undefined) return
    untilMs = end
    clearTimeout(expiry)
    expiry = setTimeout(finish, end - performance.now())
  }
  const finish = (): void => {
    if (term === undefined) return
    const ended = term
    term = undefined
    clearTimeout(expiry)
    onEnd(ended)
  }
  return {
    term: () => (performance.now() < untilMs ? term : undefined),
    /** The term even if its time is over, as long as nothing has ended it. */
    unended: () => term,
    begin: (gained: number, end: number): void => {
      term = gained
      extend(end)
    },
    extend,
    end: finish,
  }
}
