import { invalidInput } from '@svc/domain/failure'
import { hasControlCharacter, showValue } from '@svc/domain/validation'

/**
 * Throws an invalidInput Failure if a path or query parameter contains a control character or an unpaired surrogate. No
 * name in the API contains one.
 */
export function checkTexts(parameters: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(parameters)) {
    for (const text of [field, ...(Array.isArray(value) ? value : [value])]) {
      if (typeof text !== 'string' || !hasControlCharacter(text)) continue
      const shown = showValue(text)
      const name = showValue(field)
      throw invalidInput(
        `Invalid value [${shown}] for [${name}]: expected a string without control characters`,
        { field: name },
      )
    }
  }
}
