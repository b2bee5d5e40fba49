import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { UsersAndRoles } from '../answers/index.ts'
import { fetchUsersAndRoles } from '../cluster/index.ts'
import { RequestFailure, send } from '../session/index.ts'
import { useWork } from '../ui/index.ts'
import type { Change, SentChange } from './change.ts'

/** What changes replace. If other people have changed it in the meantime, nothing is sent. */
export interface Replaced {
  /** Returns it as text. */
  textIn(access: UsersAndRoles): string
  /** The text that the changes are based on. */
  readonly expected: string
  /** Whether the page itself shows the changes of others, because an edit is open. */
  readonly isEdit?: boolean
}

/** What was changed, and how to undo it. */
interface Done {
  readonly text: string
  readonly undo: readonly SentChange[]
  /** What undoing it replaces; undefined if it replaces nothing. */
  readonly replaced: Replaced | undefined
}

interface ChangeSet {
  readonly changes: readonly Change[]
  readonly replaced: Replaced | undefined
  /** What to say if other people have changed what the changes replace. */
  readonly outdated: string
}

const outdatedChange =
  'Someone else has changed this in the meantime, so nothing was changed. The page now shows the current state.'
const outdatedUndo = 'This has changed again since then, so nothing was undone.'

/** Returns the requests that undo changes, the last one first. */
const undoOf = (changes: readonly Change[]): readonly SentChange[] =>
  changes.toReversed().flatMap(({ undo }) => undo ?? [])

/**
 * Sends the first of several changes, unless what they replace has changed. Returns false if it has. Other changes at the
 * same time do not matter.
 */
async function sendFirst(
  { path, method, body }: SentChange,
  replaced: Replaced,
  refetch: () => Promise<UsersAndRoles>,
): Promise<boolean> {
  for (;;) {
    const access = await refetch()
    const { version } = access
    if (replaced.textIn(access) !== replaced.expected) return false
    try {
      await send(path, { method, body, ...(version && { headers: { 'If-Match': version } }) })
      return true
    } catch (error) {
      const isConflict = error instanceof RequestFailure && error.status === 409
      // Otherwise, the cluster refuses the change itself.
      if (!isConflict || (await refetch()).version === version) throw error
    }
  }
}

/**
 * Sends changes one after the other. If one fails, undoes those before it and reports the failure. Otherwise, offers to
 * undo them.
 */
export function useChanges() {
  const queries = useQueryClient()
  const [done, setDone] = useState<Done>()
  const { problem, isBusy, run, clearProblem } = useWork()

  /** Fetches users and roles, and shows them on the page. */
  async function refetch(): Promise<UsersAndRoles> {
    const access = await fetchUsersAndRoles()
    queries.setQueryData(['access'], access)
    return access
  }

  /** Sends changes, and collects them in a list. */
  async function sendAll({ changes, replaced, outdated }: ChangeSet, sent: Change[]): Promise<void> {
    try {
      for (const change of changes) {
        const { path, method, body } = change
        if (sent.length > 0 || replaced === undefined) await send(path, { method, body })
        else if (!(await sendFirst(change, replaced, refetch))) {
          if (replaced.isEdit) return
          throw new Error(outdated)
        }
        sent.push(change)
      }
    } catch (error) {
      for (const { path, ...options } of undoOf(sent)) await send(path, options).catch(() => undefined)
      throw error
    } finally {
      await queries.invalidateQueries()
    }
  }

  async function apply(text: string, set: ChangeSet): Promise<boolean> {
    setDone(undefined)
    const sent: Change[] = []
    await run(() => sendAll(set, sent))
    const isDone = sent.length === set.changes.length
    if (!isDone) return false
    const { replaced } = set
    const access = queries.getQueryData<UsersAndRoles>(['access'])
    // Only once the page shows the result.
    setDone({
      text,
      undo: undoOf(sent),
      replaced: replaced && access && { textIn: replaced.textIn, expected: replaced.textIn(access) },
    })
    return true
  }

  return {
    done,
    problem,
    isBusy,
    apply: (text: string, changes: readonly Change[], replaced?: Replaced) =>
      apply(text, { changes, replaced, outdated: outdatedChange }),
    clearProblem,
    undo: () =>
      done
        ? apply('Undone.', { changes: done.undo, replaced: done.replaced, outdated: outdatedUndo })
        : undefined,
  }
}

/** Changes to users and roles, and the result of the last one. */
export type Changes = ReturnType<typeof useChanges>
