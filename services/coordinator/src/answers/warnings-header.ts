import { fittingItems, jsonInAscii } from '@svc/domain/json'
import { maxWarnings } from '@svc/domain/preview'

const maxBytes = 4096

/**
 * Returns the value of the warnings header: JSON of at most 4 KiB with the number of warnings and the first of them. If
 * there may be more warnings than are listed at most, `isAtLeast` is true.
 */
export function warningsHeader(warnings: readonly object[], total = warnings.length): string {
  const count = { count: total, ...(total >= maxWarnings ? { isAtLeast: true } : {}) }
  const maxLength = maxBytes - JSON.stringify({ ...count, warnings: [] }).length
  const first = fittingItems(warnings, maxLength, (warning) => jsonInAscii(JSON.stringify(warning)))
  return jsonInAscii(JSON.stringify({ ...count, warnings: first }))
}
