import type { Settings } from '../config/index.ts'
import { basicHeader } from './basic-header.ts'

/** The identity of this server among the servers. */
export interface Escalator {
  /** The user's name; empty where no login is asked for. */
  identity(): string
  /** The Authorization header of calls among the servers; undefined where no login is asked for. */
  header(): string | undefined
  /** To be called when another server has refused the header: the configuration may have been corrected since. */
  refused(): void
}

// How often a configuration is read again at the most: the refusals of a server may be many.
const rereadPeriodMs = 1000

/**
 * The escalator as configured; after a refusal as `reread` finds it then, so that a password that is corrected counts
 * without a new start. What `reread` throws leaves the identity as it was.
 */
export function createEscalator(settings: Settings, reread: () => Settings = () => settings): Escalator {
  let current = settings
  let rereadAt = Number.NEGATIVE_INFINITY
  const isNone = () => current.get('svc.escalator.type') === 'noop'
  return {
    identity: () => (isNone() ? '' : current.get('svc.escalator.internalClientUsername')),
    header: () =>
      isNone()
        ? undefined
        : basicHeader(
            current.get('svc.escalator.internalClientUsername'),
            current.get('svc.escalator.internalClientPassword') ?? '',
          ),
    refused: () => {
      const now = performance.now()
      if (now - rereadAt < rereadPeriodMs) return
      rereadAt = now
      try {
        current = reread()
      } catch {
        // Half written, or wrong in another way: the next refusal looks again.
      }
    },
  }
}
