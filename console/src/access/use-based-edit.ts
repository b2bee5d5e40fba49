import { type Drafts, useDraft } from '../drafts/index.ts'

/** An edit, and what was stored when it began. */
export interface BasedEdit<Stored, Draft> {
  readonly base: Stored
  readonly draft: Draft
}

/**
 * An edit of something that other people can change in the meantime. Without an edit, what is stored is shown as it changes.
 * `textOf` returns the same text for equal values. The edit outlives the screen.
 */
export function useBasedEdit<Stored, Draft>(
  drafts: Drafts<BasedEdit<Stored, Draft>>,
  name: string,
  stored: Stored,
  textOf: (value: Stored) => string,
) {
  const [edit, setEdit] = useDraft(drafts, name)
  const base = edit === undefined ? stored : edit.base
  return {
    draft: edit?.draft,
    /** What was stored when the edit began. */
    base,
    /** Whether another person has changed it since. */
    isChangedByOther: textOf(base) !== textOf(stored),
    change: (draft: Draft) => setEdit({ base, draft }),
    /** Keeps the edit, which replaces the change of the other person. */
    keep: () => setEdit(edit && { ...edit, base: stored }),
    discard: () => setEdit(undefined),
  }
}
