import { acquireLease, type Candidate, type Database, releaseLease, renewLease } from '../postgres/index.ts'
import type { Logger } from '../runtime/index.ts'
import { createTroubleLog, startLoop } from '../runtime/index.ts'

/** Whether this server leads. */
export interface Election {
  /** The fencing number while this server leads, undefined otherwise. */
  term(): number | undefined
  /** Resolves when the first look has shown who leads. */
  readonly settled: Promise<void>
  /** Steps down, so that another can lead at once. */
  stop(): Promise<void>
}

/** What a server does on gaining and on losing leadership. */
export interface LeadershipChange {
  onGain(term: number): void
  onLoss(): void
}

/**
 * Takes part in the election of a role. A server holds itself for the leader only until its lease ends by its own
 * clock, counted from before it asked; the store's clock decides who may take over. While `mayLead` says no, it leaves
 * leading to others.
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
  let leadsUntil = 0
  let expiry: NodeJS.Timeout | undefined
  let settle: () => void = () => undefined
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })

  const lose = (): void => {
    if (term === undefined) return
    logger.warn('This server leads no longer', { role: candidate.role, term })
    term = undefined
    clearTimeout(expiry)
    change.onLoss()
  }
  const holdUntil = (end: number): void => {
    leadsUntil = end
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
      const asked = performance.now()
      if (!mayLead()) {
        await resign()
        settle()
      } else if (term === undefined) {
        const gained = await acquireLease(database, candidate, leaseMs)
        trouble.over('The election works again')
        settle()
        if (gained === undefined) return
        term = gained
        holdUntil(asked + leaseMs)
        logger.info('This server leads now', { role: candidate.role, term: gained })
        change.onGain(gained)
      } else if (await renewLease(database, candidate, term, leaseMs)) {
        trouble.over('The election works again')
        if (term !== undefined) holdUntil(asked + leaseMs)
      } else lose()
    },
    (error) =>
      trouble.tell('The lease of leadership cannot be renewed', {
        role: candidate.role,
        error: String(error),
      }),
  )
  return {
    settled,
    term: () => (performance.now() < leadsUntil ? term : undefined),
    stop: async () => {
      await loop.stop()
      await resign().catch(() => undefined)
    },
  }
}
