/** An instant without the parts that are zero, for example `2026-01-31` or `2026-01-31T06:00Z`. */
export function shortInstant(instant: string): string {
  return instant.replace(/T00:00:00\.000Z$/, '').replace(/:00\.000Z$/, 'Z')
}

/** An interval in short form. */
export function shortInterval(interval: string): string {
  return interval.split('/').map(shortInstant).join('/')
}
