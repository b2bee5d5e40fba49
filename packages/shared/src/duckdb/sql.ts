/** A name as SQL takes it. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** A text as SQL takes it. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** A list of texts as SQL takes it. */
export const literalList = (texts: readonly string[]): string => `[${texts.map(literal).join(', ')}]`

/** An instant as SQL takes it, of the type that `__time` has. */
export const instantLiteral = (ms: number): string => `epoch_ms(${ms})::TIMESTAMP_MS`

/** Integer division that rounds towards minus infinity; `//` of DuckDB rounds towards zero. */
export const floorDivision = (dividend: string, divisor: number): string =>
  `((${dividend}) // ${divisor} - CASE WHEN (${dividend}) % ${divisor} < 0 THEN 1 ELSE 0 END)`
