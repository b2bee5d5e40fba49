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
  let expiry: NodeJS.Timeout | undefined
  let settle: () => void = () => undefined
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })

  const lose = (): void => {
    if (term === undefined) return
    logger.warn('Lost leadership', { role: candidate.role, term })
    term = undefined
    clearTimeout(expiry)
    change.onLoss()
  }
  const holdUntil = (end: number): void => {
    leaseUntilMs = end
    clearTimeout(expiry)
    expiry = setTimeout(lose, end - performance.now())
  }
  const resign = async (): Promise<void> => {
    const held = term
    lose()
    if (held !== undefined) await releaseLease(database, candidate, held)
  }
  const loop = startLoop(
    leaseMs / 5,
    async () => {
      const requestedAt = performance.now()
      if (!mayLead()) {
        await resign()
        settle()
      } else if (term === undefined) {
        const gained = await acquireLease(database, candidate, leaseMs)
        trouble.over('Leader election recovered')
        settle()
        // If the answer was late, the lease has expired, and another server may be the leader by now.
        if (gained === undefined || performance.now() >= requestedAt + leaseMs) return
        term = gained
        holdUntil(requestedAt + leaseMs)
        logger.info('Became leader', { role: candidate.role, term: gained })
        change.onGain(gained)
      } else if (await renewLease(database, candidate, term, leaseMs)) {
        trouble.over('Leader election recovered')
        if (term !== undefined) holdUntil(requestedAt + leaseMs)
      } else lose()
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
