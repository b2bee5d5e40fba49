import type { RuleJson } from '@svc/domain/rules'
import { useMemo, useReducer } from 'react'

/** A rule of an edit. Its key stays the same when it moves. */
export interface DraftRule {
  readonly key: number
  readonly rule: RuleJson
  /** The stored rule that it comes from; undefined for a new one. */
  readonly original: RuleJson | undefined
}

/** An unsaved edit of the rules of a datasource. */
export interface RulesEdit {
  readonly draft: readonly DraftRule[]
  /** The rules that will be stored. */
  readonly list: readonly RuleJson[]
  /** The stored rules that the edit started from. */
  readonly base: readonly RuleJson[]
  readonly isEdited: boolean
  change(key: number, rule: RuleJson): void
  /** Adds a rule before all others. Returns its key. */
  add(rule: RuleJson): number
  remove(key: number): void
  /** Moves a rule to a place, counted from 0. */
  move(key: number, place: number): void
  discard(): void
  /** Starts an edit that replaces all rules. */
  replace(list: readonly RuleJson[]): void
  /** Keeps the edit, but compares it with newer stored rules. */
  rebase(stored: readonly RuleJson[]): void
}

interface State {
  /** Undefined as long as nothing is edited: then the stored rules are shown as they change. */
  readonly draft: readonly DraftRule[] | undefined
  readonly base: readonly RuleJson[]
  readonly nextKey: number
}

type Step =
  | { readonly kind: 'change'; readonly key: number; readonly rule: RuleJson }
  | { readonly kind: 'add'; readonly rule: RuleJson }
  | { readonly kind: 'remove'; readonly key: number }
  | { readonly kind: 'move'; readonly key: number; readonly place: number }
  | { readonly kind: 'discard' }
  | { readonly kind: 'replace'; readonly list: readonly RuleJson[] }
  | { readonly kind: 'rebase'; readonly stored: readonly RuleJson[] }

const draftOf = (list: readonly RuleJson[]): DraftRule[] =>
  list.map((rule, key) => ({ key, rule, original: rule }))

/** Whether two lists of rules are the same. */
export const sameRules = (a: readonly RuleJson[], b: readonly RuleJson[]): boolean =>
  JSON.stringify(a) === JSON.stringify(b)

/** Holds an edit of the stored rules of a datasource. */
export function useRulesEdit(stored: readonly RuleJson[]): RulesEdit {
  const [state, dispatch] = useReducer(
    (current: State, step: Step) => reduce(current, step, stored),
    undefined,
    (): State => ({ draft: undefined, base: stored, nextKey: 10_000 }),
  )
  return useMemo(() => {
    const base = state.draft === undefined ? stored : state.base
    const draft = state.draft ?? draftOf(stored)
    const list = draft.map(({ rule }) => rule)
    return {
      draft,
      list,
      base,
      isEdited: !sameRules(list, base),
      change: (key, rule) => dispatch({ kind: 'change', key, rule }),
      add: (rule) => {
        dispatch({ kind: 'add', rule })
        return state.nextKey
      },
      remove: (key) => dispatch({ kind: 'remove', key }),
      move: (key, place) => dispatch({ kind: 'move', key, place }),
      discard: () => dispatch({ kind: 'discard' }),
      replace: (list) => dispatch({ kind: 'replace', list }),
      rebase: (newer) => dispatch({ kind: 'rebase', stored: newer }),
    }
  }, [state, stored])
}

function reduce(state: State, step: Step, stored: readonly RuleJson[]): State {
  const base = state.draft === undefined ? stored : state.base
  const draft = state.draft ?? draftOf(stored)
  const next = (changed: readonly DraftRule[]): State => ({ ...state, base, draft: changed })
  switch (step.kind) {
    case 'change':
      return next(draft.map((one) => (one.key === step.key ? { ...one, rule: step.rule } : one)))
    case 'add':
      return {
        base,
        draft: [{ key: state.nextKey, rule: step.rule, original: undefined }, ...draft],
        nextKey: state.nextKey + 1,
      }
    case 'remove':
      return next(draft.filter(({ key }) => key !== step.key))
    case 'move': {
      const moved = draft.find(({ key }) => key === step.key)
      const rest = draft.filter(({ key }) => key !== step.key)
      return moved ? next([...rest.slice(0, step.place), moved, ...rest.slice(step.place)]) : state
    }
    case 'discard':
      return { ...state, draft: undefined }
    case 'replace':
      return {
        base,
        draft: step.list.map((rule, index) => ({ key: state.nextKey + index, rule, original: base[index] })),
        nextKey: state.nextKey + step.list.length,
      }
    case 'rebase':
      return { ...state, draft, base: step.stored }
  }
}
