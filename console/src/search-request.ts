/** What was typed after a search was requested, before its field is shown. */
export interface TypedSearch {
  readonly text: string
  /** Whether Enter followed, which opens the first result. */
  readonly isSubmitted: boolean
}

const nothingTyped: TypedSearch = { text: '', isSubmitted: false }
let requested: TypedSearch | undefined

/** Moves the focus to the search field, or requests that for when it is shown. */
export function requestSearch(): void {
  const field = document.querySelector<HTMLInputElement>('input[type=search]')
  field?.focus()
  if (field) return
  requested = nothingTyped
  // Otherwise, Enter and Space would still press the button or link that has the focus.
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
}

/** Forgets the request, because the user has gone elsewhere. */
export const cancelSearchRequest = (): void => {
  requested = undefined
}

/** Returns what was typed since the request, and clears the request; undefined if there is none. */
export function takeSearchRequest(): TypedSearch | undefined {
  const typed = requested
  requested = undefined
  return typed
}

/** Keeps a key that is typed before the search field is shown. Returns whether it was kept. */
export function keepSearchKey(event: KeyboardEvent): boolean {
  // A control that has the focus gets its keys: the search field may never be shown.
  if (requested === undefined || event.target !== document.body || event.isComposing) return false
  const next = afterKey(requested, event)
  if (next === undefined) return false
  requested = next
  return true
}

/** Returns what is typed after a key; undefined if the key does not change it. */
function afterKey(
  typed: TypedSearch,
  { key, ctrlKey, altKey, metaKey }: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'altKey' | 'metaKey'>,
): TypedSearch | undefined {
  if (ctrlKey || altKey || metaKey) return undefined
  if (key === 'Enter') return { ...typed, isSubmitted: true }
  if (key === 'Backspace') return { ...typed, text: [...typed.text].slice(0, -1).join('') }
  if (key === '/' && typed.text === '') return undefined
  return [...key].length === 1 ? { ...typed, text: typed.text + key } : undefined
}
