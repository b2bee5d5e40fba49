/**
 * Returns why a datasource has no time axis. Nothing is said about the data before the number of unused segments is known:
 * they are data, too.
 */
export function whyNoAxis({
  used,
  unused,
}: {
  readonly used: number
  /** Undefined if unknown. */
  readonly unused: number | undefined
}): 'onlyUnbounded' | 'onlyUnused' | 'unknown' | 'noData' {
  if (used > 0) return 'onlyUnbounded'
  if (unused === undefined) return 'unknown'
  return unused > 0 ? 'onlyUnused' : 'noData'
}
