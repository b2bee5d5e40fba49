import type { RulesByName } from '@svc/domain/rules'
import { type Database, loadRules, ParsedRules, rulesChannel } from '@svc/shared/postgres'

/** The rules as the store has them, read again after every change that any server makes. */
export interface FollowedRules {
  current(): Promise<RulesByName>
  /** The rules changed here: the next reader must see it at once. */
  invalidate(): void
  /** Begins to hear of changes made elsewhere. */
  start(): Promise<void>
}

export function followRules(database: Database): FollowedRules {
  let reading: Promise<RulesByName> | undefined
  // Lists that did not change stay the same objects, so that the next duty run looks only at the others.
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
      // What was read before may have changed before the listening began.
      invalidate()
    },
  }
}
