import type { RuleJson } from '@svc/domain/rules'
import { useEffect, useState } from 'react'
import { sameRules } from './rules-draft.ts'
import type { RulesEdit } from './use-rules-edit.ts'

/**
 * Ends an edit whose rules were stored outside of this page, for example with a copied command. Returns whether the last edit
 * ended this way, until the next change.
 */
export function useStoredByOther(edit: RulesEdit, stored: readonly RuleJson[], isBusy: boolean): boolean {
  const [hasEnded, setHasEnded] = useState<readonly RuleJson[]>()
  const { isEdited, list, base, step } = edit
  const isStored = isEdited && !sameRules(base, stored) && sameRules(list, stored)
  useEffect(() => {
    if (isStored && !isBusy) {
      setHasEnded(stored)
      step({ kind: 'stored' })
    } else if (isEdited || isBusy) setHasEnded(undefined)
  }, [isStored, isBusy, isEdited, stored, step])
  return !isEdited && hasEnded !== undefined && sameRules(hasEnded, stored)
}
