import { useSyncExternalStore } from 'react'

let offsetMs = 0
const listeners = new Set<() => void>()

/** Returns how far ahead of the cluster the page looks, in milliseconds. */
export const useClockOffset = (): number =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => offsetMs,
  )

/** Sets how far ahead of the cluster the page looks, on all screens. */
export function setClockOffset(ms: number): void {
  offsetMs = ms
  for (const listener of listeners) listener()
}
