import { isTyping } from './ui/index.ts'

/** What was typed after a search was requested, before its field is shown. */
export interface TypedSearch {
  readonly text: string
  /** Whether Enter followed, which opens the first result. */
  readonly isEntered: boolean
}

const nothingTyped: TypedSearch = { text: '', isEntered: false }
let requested: TypedSearch | undefined

/** Moves the focus to the search field, or requests that for when it is shown. */
export function requestSearch(): void {
  const field = document.querySelector<HTMLInputElement>('input[type=search]')
  if (field) field.focus()
  else requested = nothingTyped
}

/** Forgets the request, because the user has gone elsewhere. */
export const cancelSearchRequest = (): void => {
  requested = undefined
}

/** Returns what was typed since the request, and forgets both; undefined if there is no request. */
export function takeSearchRequest(): TypedSearch | undefined {
  const typed = requested
  requested = undefined
  return typed
}

/** Whether a key belongs to a requested search whose field is not shown yet. If so, it is remembered for the field. */
export function takeKey(event: KeyboardEvent): boolean {
  if (requested === undefined || isTyping(event.target)) return false
  const next = afterKey(requested, event)
  if (next === undefined) return false
  requested = next
  return true
}

/** Returns what is typed after a key; undefined if the key types nothing. */
function afterKey(
  typed: TypedSearch,
  { key, ctrlKey, altKey, metaKey }: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'altKey' | 'metaKey'>,
): TypedSearch | undefined {
  if (ctrlKey || altKey || metaKey) return undefined
  if (key === 'Enter') return { ...typed, isEntered: true }
  if (key === 'Backspace') return { ...typed, text: [...typed.text].slice(0, -1).join('') }
  return [...key].length === 1 ? { ...typed, text: typed.text + key } : undefined
}
