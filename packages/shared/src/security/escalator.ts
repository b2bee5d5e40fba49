import type { Settings } from '../config/index.ts'
import { basicHeader } from './basic-header.ts'

/** The identity of this server in calls to other servers. */
export interface Escalator {
  /** Returns the user name; empty if no login is required. */
  identity(): string
  /** Returns the Authorization header for calls to other servers; undefined if no login is required. */
  header(): string | undefined
  /** Call this when another server has rejected the header: the configuration may have been corrected. */
  refused(): void
}

// Min time between two reloads of the configuration, because a server may be rejected often.
const rereadPeriodMs = 1000

/**
 * Creates the configured escalator. After a rejection, it takes its settings from `reread`, so that a corrected
 * password takes effect without a restart. If `reread` throws, the identity does not change.
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
        // The file may be half written or invalid: try again at the next rejection.
      }
    },
  }
}
