import { jsonInAscii } from '@svc/domain/json'
import { maxWarnings } from '@svc/domain/preview'

const maxBytes = 4096

/**
 * Returns the value of the warnings header: JSON of at most 4 KiB with the number of warnings and the first of them. If
 * there may be more warnings than are listed at most, `isAtLeast` is true.
 */
export function warningsHeader(
  warnings: readonly { readonly type: string; readonly message: string }[],
): string {
  const first: object[] = []
  const count = { count: warnings.length, ...(warnings.length >= maxWarnings ? { isAtLeast: true } : {}) }
  let length = JSON.stringify({ ...count, warnings: first }).length
  for (const warning of warnings) {
    length += jsonInAscii(JSON.stringify(warning)).length + 1
    if (length > maxBytes) break
    first.push(warning)
  }
  return jsonInAscii(JSON.stringify({ ...count, warnings: first }))
}
