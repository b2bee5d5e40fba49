const firstDelayMs = 200
const maxDelayMs = 30_000

/** A process that ran this long counts as healthy: the delay starts over. */
const resetAfterMs = 30_000

/**
 * The delay before a process restarts: 0.2 s, doubling up to 30 s while it keeps dying. `lastDelayMs` is the previous
 * delay, undefined after the first exit.
 */
export function restartDelayMs(lastDelayMs: number | undefined, livedMs: number): number {
  if (lastDelayMs === undefined || livedMs >= resetAfterMs) return firstDelayMs
  return Math.min(lastDelayMs * 2, maxDelayMs)
}
