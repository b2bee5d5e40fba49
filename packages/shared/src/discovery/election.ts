import { acquireLease, type Candidate, type Database, releaseLease, renewLease } from '../postgres/index.ts'
import type { Logger } from '../runtime/index.ts'
import { createTroubleLog, startLoop } from '../runtime/index.ts'

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

/**
 * Takes part in the leader election of a role. A server considers itself leader only until its lease expires on its own
 * clock, measured from before the request; the metadata store's clock decides when another server may take over. While
 * `mayLead` returns false, this server steps down and does not become leader.
 */
export function startElection(
  database: Database,
  candidate: Candidate,
  leaseMs: number,
  change: LeadershipChange,
  logger: Logger,
  mayLead: () => boolean = () => true,
): Election {
  const trouble = createTroubleLog(logger)
  let term: number | undefined
  let leaseUntilMs = 0
  /**
   * Whether the store may have a lease for this server although it does not lead: an answer was lost or late, or a renewal took
   * effect after the lease had expired here. This server releases it before it tries again, so that others may lead.
   */
  let mayHoldLease = false
  let expiry: NodeJS.Timeout | undefined
  let settle: () => void = () => undefined
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })

  const lose = (): void => {
    if (term === undefined) return
    logger.warn('Lost leadership', { role: candidate.role, term })
    term = undefined
    mayHoldLease = true
    clearTimeout(expiry)
    change.onLoss()
  }
  const holdUntil = (end: number): void => {
    leaseUntilMs = end
    clearTimeout(expiry)
    expiry = setTimeout(lose, end - performance.now())
  }
  const release = async (): Promise<void> => {
    if (!mayHoldLease) return
    await releaseLease(database, candidate)
    mayHoldLease = false
  }
  const resign = async (): Promise<void> => {
    lose()
    await release()
  }
  const acquire = async (): Promise<void> => {
    await release()
    const requestedAt = performance.now()
    mayHoldLease = true
    const gained = await acquireLease(database, candidate, leaseMs)
    mayHoldLease = gained !== undefined
    trouble.over('Leader election recovered')
    settle()
    // If the answer was late, the lease has expired, and another server may be the leader by now.
    if (gained === undefined || performance.now() >= requestedAt + leaseMs) return
    term = gained
    holdUntil(requestedAt + leaseMs)
    logger.info('Became leader', { role: candidate.role, term: gained })
    change.onGain(gained)
  }
  const renew = async (held: number): Promise<void> => {
    const requestedAt = performance.now()
    if (await renewLease(database, candidate, held, leaseMs)) {
      trouble.over('Leader election recovered')
      if (term !== undefined) holdUntil(requestedAt + leaseMs)
    } else lose()
  }
  const loop = startLoop(
    leaseMs / 5,
    async () => {
      if (!mayLead()) {
        await resign()
        settle()
      } else if (term === undefined) await acquire()
      else await renew(term)
    },
    (error) =>
      trouble.report('Failed to acquire or renew the leader lease', {
        role: candidate.role,
        error: String(error),
      }),
  )
  return {
    settled,
    term: () => (performance.now() < leaseUntilMs ? term : undefined),
    stop: async () => {
      await loop.stop()
      await resign().catch(() => undefined)
    },
  }
}
