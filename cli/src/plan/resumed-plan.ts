import { canonicalJson } from '@svc/domain/json'
import {
  type Change,
  grownLosses,
  keyOf,
  type LiveState,
  type Plan,
  stateOfPlan,
} from '../declared-state/index.ts'

/**
 * Returns an interrupted plan if a new plan makes exactly the changes that remain of it. Then the new one continues it, so that
 * one ID is enough to undo all changes. Otherwise returns the new plan.
 */
export function resumedPlan(made: Plan, started: Plan | undefined, live: LiveState): Plan {
  if (started === undefined || started.clusterId !== made.clusterId) return made
  // A part that was not read looks as if it had no entries.
  if (!started.changes.every(({ path }) => live.sections.has(keyOf(path.slice(0, -1))))) return made
  const { open, conflicts } = stateOfPlan(started, live)
  const isRest = conflicts.length === 0 && results(open) === results(made.changes)
  const isIncluded = isRest && grownLosses(started.losses, made.losses).length === 0
  return isIncluded && listsUnusedOf(started, made) ? started : made
}

/**
 * Returns notices about an interrupted plan of the same cluster if the plan to apply does not continue it: nothing else would
 * say that two plans have to be reverted to undo everything.
 */
export function interruptedNotices(plan: Plan, started: Plan | undefined): string[] {
  if (started === undefined || started.id === plan.id || started.clusterId !== plan.clusterId) return []
  return [
    `Plan ${started.id} was interrupted, and this is a new plan because what remains to be done has changed. To undo everything, revert both plans, the new one first.`,
  ]
}

/** Whether a plan for Druid lists the segments that another one marks as unused: a revert restores only these. */
function listsUnusedOf({ unusedSegments: listed = {} }: Plan, { unusedSegments = {} }: Plan): boolean {
  return Object.entries(unusedSegments).every(([name, ids]) => {
    const known = new Set(Object.hasOwn(listed, name) ? listed[name] : [])
    return ids.every((id) => known.has(id))
  })
}

/** What entries become, as text. The earlier values of an interrupted change may be between the two of the change. */
const results = (changes: readonly Change[]): string =>
  canonicalJson(changes.map(({ path, after }) => [keyOf(path), canonicalJson(after ?? null)]).sort())
