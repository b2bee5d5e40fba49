import type { RuleJson } from '@svc/domain/rules'
import { useMemo } from 'react'
import { Drafts, useDraft } from '../drafts/index.ts'
import { datasourceAddress } from '../location.ts'
import {
  afterStep,
  type ChangeNote,
  type DraftRule,
  draftRulesOf,
  noDraft,
  type RulesDraftState,
  type RulesStep,
  unsavedDraft,
} from './rules-draft.ts'

const drafts = new Drafts<RulesDraftState>({
  isUnsaved: (state) => unsavedDraft(state) !== undefined,
  describe: (name) => ({ label: name, href: datasourceAddress(name) }),
})

/** An unsaved edit of the rules of a datasource. */
export interface RulesEdit {
  readonly draft: readonly DraftRule[]
  /** The rules that will be stored. */
  readonly list: readonly RuleJson[]
  /** The stored rules that the edit started from. */
  readonly base: readonly RuleJson[]
  readonly note: ChangeNote
  readonly isEdited: boolean
  /** Whether an edit was discarded, and can be restored. */
  readonly canRestore: boolean
  /** Adds a rule before all others. Returns its key. */
  add(rule: RuleJson): number
  step(step: RulesStep): void
  discard(): void
}

/** The edit of the rules of a datasource, whose stored rules are given. It outlives the screen. */
export function useRulesEdit(dataSource: string, stored: readonly RuleJson[]): RulesEdit {
  const [state = noDraft, setState] = useDraft(drafts, dataSource)
  const draft = useMemo(() => unsavedDraft(state), [state])
  const shown = useMemo(() => draft?.rules ?? draftRulesOf(stored), [draft?.rules, stored])
  const list = useMemo(
    () => (draft === undefined ? stored : shown.map(({ rule }) => rule)),
    [draft === undefined, shown, stored],
  )
  return useMemo(() => {
    // The latest state, because several steps may follow each other before the next rendering.
    const step = (one: RulesStep) => setState(afterStep(drafts.get(dataSource) ?? noDraft, one, stored))
    return {
      draft: shown,
      list,
      base: draft?.base ?? stored,
      note: { author: draft?.author ?? '', comment: draft?.comment ?? '' },
      isEdited: draft !== undefined,
      canRestore: state.discarded !== undefined,
      add: (rule) => {
        const { nextKey } = drafts.get(dataSource) ?? noDraft
        step({ kind: 'add', rule })
        return nextKey
      },
      step,
      discard: () => step({ kind: 'discard' }),
    }
  }, [dataSource, stored, setState, shown, list, draft, state.discarded])
}
