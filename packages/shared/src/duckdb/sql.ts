import { invalidInput } from '@svc/domain/failure'
import { escapeControlCharacters } from '@svc/domain/validation'

/** A name as SQL takes it. Throws an invalidInput Failure if it has a NUL, at which DuckDB would end the statement. */
export function identifier(name: string): string {
  if (name.includes('\0')) {
    throw invalidInput(
      `Invalid value [${escapeControlCharacters(name)}] for the name of a column: expected a name without control characters.`,
    )
  }
  return `"${name.replaceAll('"', '""')}"`
}

/** A text as SQL takes it. DuckDB would end the statement at a NUL, so that one is written as a call. */
export function literal(text: string): string {
  const parts = text.split('\0').map((part) => `'${part.replaceAll("'", "''")}'`)
  return parts.length === 1 ? (parts[0] as string) : `(${parts.join(' || chr(0) || ')})`
}

/** A list of texts as SQL takes it. */
export const literalList = (texts: readonly string[]): string => `[${texts.map(literal).join(', ')}]`

/** An instant as SQL takes it, of the type that `__time` has. */
export const instantLiteral = (ms: number): string => `epoch_ms(${ms})::TIMESTAMP_MS`

/** Integer division that rounds towards minus infinity; `//` of DuckDB rounds towards zero. */
export const floorDivision = (dividend: string, divisor: number): string =>
  `((${dividend}) // ${divisor} - CASE WHEN (${dividend}) % ${divisor} < 0 THEN 1 ELSE 0 END)`
