import type { RulesByName } from '@svc/domain/rules'
import { type Database, loadRules, ParsedRules, rulesChannel } from '@svc/shared/postgres'

/** The rules in the metadata store, reloaded after every change by any server. */
export interface FollowedRules {
  current(): Promise<RulesByName>
  /** Discards the cached rules after a change on this server, so that the next reader sees it. */
  invalidate(): void
  /** Starts to listen for changes by other servers. */
  start(): Promise<void>
}

export function followRules(database: Database): FollowedRules {
  let reading: Promise<RulesByName> | undefined
  // Unchanged lists stay the same objects, so that the next duty run checks only the others.
  const parsed = new ParsedRules()
  const invalidate = (): void => {
    reading = undefined
  }
  return {
    invalidate,
    current: () => {
      if (!reading) {
        const started = loadRules(database, parsed)
        reading = started
        started.catch(() => {
          if (reading === started) reading = undefined
        })
      }
      return reading
    },
    start: async () => {
      await database.listen(rulesChannel, invalidate)
      // Rules that were read earlier may have changed before the listener started.
      invalidate()
    },
  }
}
