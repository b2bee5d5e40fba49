import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../session/index.ts'
import { useWork } from '../ui/index.ts'
import type { Change, SentChange } from './change.ts'

/** What was changed, and how to undo it. */
interface Done {
  readonly text: string
  readonly undo: readonly SentChange[]
}

/** Returns the requests that undo changes, the last one first. */
const undoOf = (changes: readonly Change[]): readonly SentChange[] =>
  changes.toReversed().flatMap(({ undo }) => undo ?? [])

/**
 * Sends changes one after the other. If one fails, undoes those before it and reports the failure. Otherwise, offers to
 * undo them.
 */
export function useChanges() {
  const queries = useQueryClient()
  const [done, setDone] = useState<Done>()
  const { problem, isBusy, run } = useWork()
  async function apply(text: string, changes: readonly Change[]): Promise<boolean> {
    setDone(undefined)
    const completed: Change[] = []
    await run(async () => {
      try {
        for (const change of changes) {
          const { path, method, body } = change
          await send(path, { method, body })
          completed.push(change)
        }
      } catch (error) {
        for (const { path, ...options } of undoOf(completed)) await send(path, options).catch(() => undefined)
        throw error
      } finally {
        await queries.invalidateQueries()
      }
    })
    const isDone = completed.length === changes.length
    // Only once the page shows the result.
    if (isDone) setDone({ text, undo: undoOf(completed) })
    return isDone
  }
  return {
    done,
    problem,
    isBusy,
    apply,
    undo: () => (done ? apply('Undone.', done.undo) : undefined),
  }
}

/** Changes to users and roles, and the result of the last one. */
export type Changes = ReturnType<typeof useChanges>
