let isRequested = false

/** Moves the focus to the search field, or requests that for when it is shown. */
export function requestSearch(): void {
  const field = document.querySelector<HTMLInputElement>('input[type=search]')
  if (field) field.focus()
  else isRequested = true
}

/** Forgets the request, because the user has gone elsewhere. */
export const cancelSearchRequest = (): void => {
  isRequested = false
}

/** Returns whether the focus was requested, and forgets that. */
export function takeSearchRequest(): boolean {
  const wasRequested = isRequested
  isRequested = false
  return wasRequested
}
