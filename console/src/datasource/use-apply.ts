import type { RuleJson } from '@svc/domain/rules'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { fetchRules, rulesPath } from '../cluster/index.ts'
import { callWorker } from '../preview/index.ts'
import { inBytes, send } from '../session/index.ts'
import { type RulesEdit, sameRules } from './use-rules-edit.ts'

/** A change that was applied. */
export interface Applied {
  /** The rules before and after it. */
  readonly before: readonly RuleJson[]
  readonly after: readonly RuleJson[]
  /** The segments that it marks unused. */
  readonly dropped: readonly string[]
  readonly isUndone: boolean
}

interface Audit {
  readonly author: string
  readonly comment: string
}

// A request has room for about 10,000 ids.
const idsPerRequest = 5000

/** Marks segments as used again. Those that are used already stay so. */
async function markUsed(dataSource: string, ids: readonly string[]): Promise<void> {
  const path = `/svc/coordinator/v1/datasources/${encodeURIComponent(dataSource)}/markUsed`
  for (let at = 0; at < ids.length; at += idsPerRequest)
    await send(path, { method: 'POST', body: { segmentIds: ids.slice(at, at + idsPerRequest) } })
}

/** Stores rules, unless another person has changed them in the meantime, and undoes the last change. */
export function useApply(dataSource: string, edit: RulesEdit, stored: readonly RuleJson[]) {
  const queries = useQueryClient()
  const [applied, setApplied] = useState<Applied>()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  async function store(
    expected: readonly RuleJson[],
    list: readonly RuleJson[],
    audit: Audit,
    isUndo: boolean,
  ) {
    setIsBusy(true)
    setProblem(undefined)
    try {
      const current = await fetchRules(dataSource)
      queries.setQueryData(['rules', dataSource], current)
      // Nothing is stored. The page now shows the change of the other person.
      if (!sameRules(current.own, expected)) {
        if (isUndo) setProblem('The rules have changed again since then, so nothing was undone.')
        return
      }
      const dropped = isUndo ? [] : await callWorker('dropped', { dataSource, rules: list })
      await send(rulesPath(dataSource), {
        method: 'POST',
        body: list,
        headers: { 'X-Svc-Author': inBytes(audit.author), 'X-Svc-Comment': inBytes(audit.comment) },
      })
      const after = await fetchRules(dataSource)
      queries.setQueryData(['rules', dataSource], after)
      edit.discard()
      if (isUndo) await markUsed(dataSource, applied?.dropped ?? [])
      setApplied({ before: current.own, after: after.own, dropped, isUndone: isUndo })
      await queries.invalidateQueries()
    } catch (error) {
      setProblem((error as Error).message)
    } finally {
      setIsBusy(false)
    }
  }

  return {
    applied: applied && sameRules(applied.after, stored) ? applied : undefined,
    problem,
    isBusy,
    apply: (list: readonly RuleJson[], audit: Audit) => store(edit.base, list, audit, false),
    undo: () => {
      if (applied)
        void store(applied.after, applied.before, { author: '', comment: 'Undo in the console' }, true)
    },
  }
}
