import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../session/index.ts'

/** A request that changes users or roles. */
export interface Change {
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  readonly body?: unknown
}

/** What was changed, and how to undo it. */
interface Done {
  readonly text: string
  readonly undo: readonly Change[]
}

/** Sends changes one after the other. Reports the first failure, and offers to undo what was changed. */
export function useChanges() {
  const queries = useQueryClient()
  const [done, setDone] = useState<Done>()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  async function apply(
    text: string,
    changes: readonly Change[],
    undo: readonly Change[] = [],
  ): Promise<boolean> {
    setIsBusy(true)
    setProblem(undefined)
    setDone(undefined)
    let isDone = false
    try {
      for (const { path, ...options } of changes) await send(path, options)
      setDone({ text, undo })
      isDone = true
    } catch (error) {
      setProblem((error as Error).message)
    }
    await queries.invalidateQueries()
    setIsBusy(false)
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

/** Changes of users and roles, and what came of the last one. */
export type Changes = ReturnType<typeof useChanges>
