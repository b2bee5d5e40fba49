const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 30_000

/** A process that ran this long counts as healthy: the delay starts over. */
const RESET_AFTER_MS = 30_000

/**
 * The delay before a process restarts: 0.2 s, doubling up to 30 s while it keeps dying. `lastDelayMs` is the previous
 * delay, undefined after the first exit.
 */
export function restartDelayMs(lastDelayMs: number | undefined, livedMs: number): number {
  if (lastDelayMs === undefined || livedMs >= RESET_AFTER_MS) return FIRST_DELAY_MS
  return Math.min(lastDelayMs * 2, MAX_DELAY_MS)
}
