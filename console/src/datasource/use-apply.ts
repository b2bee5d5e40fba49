import type { RuleJson } from '@svc/domain/rules'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Drafts, useDraft } from '../drafts/index.ts'
import { datasourceAddress } from '../location.ts'
import { useWork } from '../ui/index.ts'
import { callWorker, SegmentIds } from '../web-worker/index.ts'
import { markSegments } from './mark-segments.ts'
import { type ChangeNote, sameRules } from './rules-draft.ts'
import type { RulesEdit } from './use-rules-edit.ts'
import { useStoreRules } from './use-store-rules.ts'

/** A change that was applied. */
interface Applied {
  /** The rules before and after it. */
  readonly before: readonly RuleJson[]
  readonly after: readonly RuleJson[]
  /** The segments that it marks as unused, until an undo has marked them as used. */
  readonly dropped: SegmentIds | undefined
  readonly isUndone: boolean
  readonly marking: Marking | undefined
}

/** How many segments an undo has marked as used. It may fail before it has marked all. */
export interface Marking {
  readonly marked: number
  readonly total: number
  readonly isRunning: boolean
}

// The last change of each datasource. It can be undone until the rules change again. It outlives the screen,
// because marking a million segments takes a while.
const lastChanges = new Drafts<Applied>({
  isUnsaved: ({ marking }) => marking?.isRunning === true,
  describe: (name) => ({ label: `undo in progress for ${name}`, href: datasourceAddress(name) }),
})

/** Applies an edit, unless another person has changed the rules in the meantime, and undoes the last change. */
export function useApply(dataSource: string, edit: RulesEdit, stored: readonly RuleJson[]) {
  const queries = useQueryClient()
  const [applied, setApplied] = useDraft(lastChanges, dataSource)
  const store = useStoreRules(dataSource)
  const { problem, isBusy, run } = useWork()
  const [isUndo, setIsUndo] = useState(false)

  /** Stores the rules from before a change. Returns the rules before and after that. */
  async function restoreRules({ before, after }: Applied) {
    const note = { author: '', comment: 'Undo in the console' }
    const change = await store({ expected: after, list: before, note })
    if (change === undefined)
      throw new Error('The rules have changed again since then, so nothing was undone.')
    return change
  }

  /** Marks the segments of an undone change as used, and shows how many of them are. */
  async function markDropped(undone: Applied, dropped: SegmentIds) {
    const show = (marked: number, isRunning: boolean) =>
      setApplied({ ...undone, isUndone: true, marking: { marked, total: dropped.length, isRunning } })
    let marked = 0
    show(marked, true)
    try {
      await markSegments(dataSource, dropped, 'markUsed', (count) => {
        marked = count
        show(marked, true)
      })
    } catch (error) {
      show(marked, false)
      throw error
    }
  }

  return {
    applied: applied && sameRules(applied.after, stored) ? applied : undefined,
    problem: isUndo ? undefined : problem,
    undoProblem: isUndo ? problem : undefined,
    isBusy,
    apply: (list: readonly RuleJson[], note: ChangeNote) =>
      run(async () => {
        setIsUndo(false)
        const dropped = await callWorker('dropped', { dataSource, rules: list })
        const change = await store({ expected: edit.base, list, note })
        // The page now shows the change of the other person.
        if (change === undefined) return
        edit.step({ kind: 'stored' })
        setApplied({ ...change, dropped: new SegmentIds(dropped), isUndone: false, marking: undefined })
        await queries.invalidateQueries()
      }),
    undo: () =>
      run(async () => {
        setIsUndo(true)
        if (!applied) return
        const undone = applied.isUndone ? applied : { ...applied, ...(await restoreRules(applied)) }
        if (undone.dropped) await markDropped(undone, undone.dropped)
        setApplied({ ...undone, dropped: undefined, isUndone: true, marking: undefined })
        await queries.invalidateQueries()
      }),
  }
}
