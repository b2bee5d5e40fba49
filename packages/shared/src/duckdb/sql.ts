import { invalidInput } from '@svc/domain/failure'
import { escapeControlCharacters } from '@svc/domain/validation'

/**
 * Quotes an identifier. Throws an invalidInput Failure if it contains a NUL, at which DuckDB would end the statement.
 */
export function identifier(name: string): string {
  if (name.includes('\0')) {
    throw invalidInput(
      `Invalid column name [${escapeControlCharacters(name)}]: expected a name without control characters`,
    )
  }
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes a string literal. DuckDB would end the statement at a NUL, so each NUL becomes a call of `chr(0)`. */
export function literal(text: string): string {
  const parts = text.split('\0').map((part) => `'${part.replaceAll("'", "''")}'`)
  return parts.length === 1 ? (parts[0] as string) : `(${parts.join(' || chr(0) || ')})`
}

/** Returns a list of string literals. */
export const literalList = (texts: readonly string[]): string => `[${texts.map(literal).join(', ')}]`

/** Returns an instant (epoch milliseconds) as a literal of the type of `__time`. */
export const instantLiteral = (ms: number): string => `epoch_ms(${ms})::TIMESTAMP_MS`

/** Returns an integer division that rounds toward negative infinity; DuckDB's `//` rounds toward zero. */
export const floorDivision = (dividend: string, divisor: number): string =>
  `((${dividend}) // ${divisor} - CASE WHEN (${dividend}) % ${divisor} < 0 THEN 1 ELSE 0 END)`
