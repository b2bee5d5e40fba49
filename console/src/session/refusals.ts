import { useSyncExternalStore } from 'react'

/** A request of this tab's user that was refused because of a missing permission. */
export interface RefusedRequest {
  readonly method: string
  /** Without the query string. */
  readonly path: string
  readonly message: string
}

let last: RefusedRequest | undefined
const listeners = new Set<() => void>()

function setLast(next: RefusedRequest | undefined): void {
  last = next
  for (const listener of listeners) listener()
}

/** Notes a refused request. */
export const noteRefusal = (refused: RefusedRequest): void => setLast(refused)

/** Forgets the last refused request. */
export const dismissRefusal = (): void => setLast(undefined)

/** Forgets the last refused request if a request of the same kind has now succeeded. */
export function forgetRefusalOf(method: string, path: string): void {
  if (last?.method === method && last.path === path) setLast(undefined)
}

/** Returns the last request that was refused, until it is dismissed. */
export const useLastRefusal = (): RefusedRequest | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => last,
  )
