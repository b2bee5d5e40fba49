const FIRST_DELAY_MS = 200
const LONGEST_DELAY_MS = 30_000

/** A process that lived this long counts as healthy again: its next delay is the first one. */
const LIFE_THAT_RESETS_MS = 30_000

/**
 * How long to wait before a process that ended is started again: 0.2 s, doubling to 30 s while it keeps dying.
 * `lastDelayMs` is the delay before the life that just ended, undefined for the first one.
 */
export function restartDelayMs(lastDelayMs: number | undefined, livedMs: number): number {
  if (lastDelayMs === undefined || livedMs >= LIFE_THAT_RESETS_MS) return FIRST_DELAY_MS
  return Math.min(lastDelayMs * 2, LONGEST_DELAY_MS)
}
