/** The format of delimiter-separated text. */
export interface CsvFormat {
  readonly delimiter: string
  readonly quote: string
}

/** One record of delimiter-separated text. */
export interface CsvRecord {
  readonly fields: readonly string[]
  /** How the record ends; `quoted` if the text ends within quotes. */
  readonly end: 'line' | 'text' | 'quoted'
}

/**
 * Yields the records of a text. A field in quotes may have delimiters, line breaks, and doubled quotes. Lines end with CR, LF,
 * or both; an empty line is a record with one empty field, and so is the end of a text after a line break.
 */
export function* csvRecords(text: string, { delimiter, quote }: CsvFormat): Generator<CsvRecord> {
  let fields: string[] = []
  let field = ''
  let isQuoted = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!
    if (isQuoted) {
      if (character !== quote) field += character
      else if (text[at + 1] === quote) {
        field += quote
        at += 1
      } else isQuoted = false
    } else if (character === quote && field === '') isQuoted = true
    else if (character === delimiter) {
      fields.push(field)
      field = ''
    } else if (character === '\n' || character === '\r') {
      if (character === '\r' && text[at + 1] === '\n') at += 1
      yield { fields: [...fields, field], end: 'line' }
      fields = []
      field = ''
    } else field += character
  }
  yield { fields: [...fields, field], end: isQuoted ? 'quoted' : 'text' }
}
