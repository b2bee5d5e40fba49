const units: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
]

/** Returns a duration in its two largest units, for example `3 min 20 s`; at least `1 s`. */
export function formatDuration(durationMs: number): string {
  let left = Math.max(1000, Math.round(durationMs / 1000) * 1000)
  const first = units.findIndex(([, ms]) => left >= ms)
  const parts: string[] = []
  for (const [name, ms] of units.slice(first, first + 2)) {
    const count = Math.floor(left / ms)
    if (count > 0) parts.push(`${count} ${name}`)
    left -= count * ms
  }
  return parts.join(' ')
}
