import { useCallback, useSyncExternalStore } from 'react'

/** An unsaved edit: what is edited, and the screen where it can be continued. */
export interface UnsavedEdit {
  readonly label: string
  readonly href: string
}

/** How edits of one kind are shown outside their screen. */
interface Kind<State> {
  isUnsaved(state: State): boolean
  describe(name: string): UnsavedEdit
}

const allDrafts = new Set<Pick<Drafts<unknown>, 'clear' | 'unsaved'>>()
const listeners = new Set<() => void>()
let unsaved: readonly UnsavedEdit[] = []

function notify(): void {
  unsaved = [...allDrafts].flatMap((drafts) => drafts.unsaved())
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** States of edits by name. They are in the memory of the tab, so they outlive the screens that show them. */
export class Drafts<State> {
  private readonly states = new Map<string, State>()
  private readonly kind: Kind<State> | undefined

  /** Without a kind, the states are not edits, so nothing is lost with them. */
  constructor(kind?: Kind<State>) {
    this.kind = kind
    allDrafts.add(this)
  }

  get(name: string): State | undefined {
    return this.states.get(name)
  }

  set(name: string, state: State | undefined): void {
    if (state === undefined) this.states.delete(name)
    else this.states.set(name, state)
    notify()
  }

  clear(): void {
    this.states.clear()
  }

  /** Returns the edits that are not saved. */
  unsaved(): UnsavedEdit[] {
    const { kind, states } = this
    if (kind === undefined) return []
    return [...states].filter(([, state]) => kind.isUnsaved(state)).map(([name]) => kind.describe(name))
  }
}

/** Returns the state of an edit, and a function that changes it. Renders again when the state changes. */
export function useDraft<State>(
  drafts: Drafts<State>,
  name: string,
): readonly [State | undefined, (state: State | undefined) => void] {
  const state = useSyncExternalStore(subscribe, () => drafts.get(name))
  return [state, useCallback((next) => drafts.set(name, next), [drafts, name])]
}

/** Returns all unsaved edits of the tab, and renders again when there are other ones. */
export const useUnsavedEdits = (): readonly UnsavedEdit[] => useSyncExternalStore(subscribe, unsavedEdits)

/** Returns all unsaved edits of the tab. */
export const unsavedEdits = (): readonly UnsavedEdit[] => unsaved

/** Forgets all edits, because another person uses the tab. */
export function clearDrafts(): void {
  for (const drafts of allDrafts) drafts.clear()
  notify()
}
