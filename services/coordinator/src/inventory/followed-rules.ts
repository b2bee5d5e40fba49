import type { RulesByName } from '@svc/domain/rules'
import {
  type Database,
  loadRulesSnapshot,
  ParsedRules,
  type RulesSnapshot,
  rulesChannel,
} from '@svc/shared/postgres'
import { readOnChange } from './read-on-change.ts'

/** The rules in the metadata store, reloaded after every change by any server. */
export interface FollowedRules {
  current(): Promise<RulesByName>
  /** Returns the current rules with the audit IDs of their last changes. */
  snapshot(): Promise<RulesSnapshot>
  /**
   * Discards the cached rules after a change on this server, or when it becomes the leader and may not know the changes of its
   * predecessor, so that the next reader sees them.
   */
  invalidate(): void
  /** Starts to listen for changes by other servers. */
  start(): Promise<void>
}

export function followRules(database: Database): FollowedRules {
  let changes = 0
  const invalidate = (): void => {
    changes += 1
  }
  // Unchanged lists stay the same objects, so that the next duty run checks only the others.
  const parsed = new ParsedRules()
  const snapshot = readOnChange(
    () => loadRulesSnapshot(database, parsed),
    () => changes,
  )
  return {
    invalidate,
    snapshot,
    current: async () => (await snapshot()).rules,
    start: async () => {
      await database.listen(rulesChannel, invalidate)
      // Rules that were read earlier may have changed before the listener started.
      invalidate()
    },
  }
}
