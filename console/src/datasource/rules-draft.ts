import type { RuleJson } from '@svc/domain/rules'

/** A rule of an edit. Its key stays the same when it moves. */
export interface DraftRule {
  readonly key: number
  readonly rule: RuleJson
  /** The stored rule that it comes from; undefined for a new one. */
  readonly original: RuleJson | undefined
}

/** Who makes a change and why, as far as the user says so. */
export interface ChangeNote {
  readonly author: string
  readonly comment: string
}

/** An edit of the rules of a datasource. */
export interface RulesDraft extends ChangeNote {
  readonly rules: readonly DraftRule[]
  /** The stored rules that the edit started from. */
  readonly base: readonly RuleJson[]
}

/** The edit of the rules of a datasource, and the last one that was discarded. */
export interface RulesDraftState {
  /** If it changes nothing, the stored rules are shown as they change. */
  readonly draft: RulesDraft | undefined
  readonly discarded: RulesDraft | undefined
  readonly nextKey: number
}

/** One step of an edit. */
export type RulesStep =
  | { readonly kind: 'change'; readonly key: number; readonly rule: RuleJson }
  | { readonly kind: 'add'; readonly rule: RuleJson }
  | { readonly kind: 'remove'; readonly key: number }
  | { readonly kind: 'move'; readonly key: number; readonly place: number }
  | { readonly kind: 'note'; readonly note: ChangeNote }
  /** Replaces all rules. */
  | { readonly kind: 'replace'; readonly list: readonly RuleJson[] }
  /** Keeps the edit, but compares it with newer stored rules. */
  | { readonly kind: 'rebase' }
  | { readonly kind: 'discard' }
  | { readonly kind: 'restore' }
  /** The edit is stored. */
  | { readonly kind: 'stored' }

/** The state before the first step. Keys of new rules are larger than those of stored ones. */
export const noDraft: RulesDraftState = { draft: undefined, discarded: undefined, nextKey: 100_000 }

const areSameRule = (a: RuleJson | undefined, b: RuleJson | undefined): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b)

/** Whether two lists of rules are the same. Rules that are the same objects are not compared, so this is fast. */
export const sameRules = (a: readonly RuleJson[], b: readonly RuleJson[]): boolean =>
  a === b || (a.length === b.length && a.every((rule, index) => areSameRule(rule, b[index])))

/** Whether a rule is new or differs from the stored rule that it comes from. */
export const isChangedRule = ({ rule, original }: DraftRule): boolean => !areSameRule(rule, original)

/** Returns stored rules as rules of an edit. */
export const draftRulesOf = (list: readonly RuleJson[]): DraftRule[] =>
  list.map((rule, key) => ({ key, rule, original: rule }))

/** Whether an edit differs from the rules that it started from. */
const isEdited = ({ rules, base }: RulesDraft): boolean =>
  rules.length !== base.length || rules.some(({ rule }, index) => !areSameRule(rule, base[index]))

/** Returns the edit that would be lost; undefined if there is none. */
export const unsavedDraft = ({ draft }: RulesDraftState): RulesDraft | undefined =>
  draft !== undefined && isEdited(draft) ? draft : undefined

/** Returns the state after a step. `stored` are the rules that are stored now. */
export function afterStep(
  state: RulesDraftState,
  step: RulesStep,
  stored: readonly RuleJson[],
): RulesDraftState {
  const unsaved = unsavedDraft(state)
  const draft = unsaved ?? {
    rules: draftRulesOf(stored),
    base: stored,
    author: state.draft?.author ?? '',
    comment: state.draft?.comment ?? '',
  }
  const { rules, base } = draft
  const withRules = (changed: readonly DraftRule[]): RulesDraftState => ({
    ...state,
    draft: { ...draft, rules: changed },
  })
  switch (step.kind) {
    case 'change':
      return withRules(rules.map((one) => (one.key === step.key ? { ...one, rule: step.rule } : one)))
    case 'add':
      return {
        ...withRules([{ key: state.nextKey, rule: step.rule, original: undefined }, ...rules]),
        nextKey: state.nextKey + 1,
      }
    case 'remove':
      return withRules(rules.filter(({ key }) => key !== step.key))
    case 'move': {
      const moved = rules.find(({ key }) => key === step.key)
      const rest = rules.filter(({ key }) => key !== step.key)
      return moved ? withRules([...rest.slice(0, step.place), moved, ...rest.slice(step.place)]) : state
    }
    case 'note':
      return { ...state, draft: { ...draft, ...step.note } }
    case 'replace': {
      const { nextKey } = state
      const replaced = step.list.map((rule, index) => ({ key: nextKey + index, rule, original: base[index] }))
      return {
        ...withRules(replaced),
        discarded: unsaved ?? state.discarded,
        nextKey: nextKey + replaced.length,
      }
    }
    case 'rebase':
      return { ...state, draft: rebased(draft, stored) }
    case 'discard':
      return { ...state, draft: undefined, discarded: unsaved ?? state.discarded }
    case 'restore':
      return { ...state, draft: state.discarded, discarded: unsaved }
    case 'stored':
      return { ...state, draft: undefined, discarded: undefined }
  }
}

/** Returns an edit with newer stored rules as its base. A rule is then compared with the one that is now in the same place. */
function rebased(draft: RulesDraft, stored: readonly RuleJson[]): RulesDraft {
  const places = new Map(draft.base.map((rule, place) => [rule, place]))
  const newer = (original: RuleJson | undefined) => {
    const place = original && places.get(original)
    return place === undefined ? undefined : stored[place]
  }
  const rules = draft.rules.map((one) => ({ ...one, original: newer(one.original) }))
  return { ...draft, rules, base: stored }
}
