import { floorDivision, instantLiteral, literal } from '../duckdb/index.ts'

/** The named formats of a timestamp column; any other format is a pattern of letters. */
export const namedTimestampFormats = ['auto', 'iso', 'millis', 'posix', 'micro', 'nano'] as const

// Instants outside the years 0 to 9999 usually come from a wrong unit, and segment ids have four digits for the year.
const firstInstantMs = -62_167_219_200_000
const lastInstantMs = 253_402_300_799_999

const unitsPerMs = { micro: 1000, nano: 1_000_000 } as const

// Converts repeated letters of a pattern (those of Joda-Time, as in Druid) to a specifier of strptime.
function specifierOf(letter: string, count: number): string | undefined {
  switch (letter) {
    case 'y':
    case 'Y':
      return count === 2 ? '%y' : '%Y'
    case 'M':
      return count <= 2 ? '%m' : count === 3 ? '%b' : '%B'
    case 'd':
      return '%d'
    case 'D':
      return '%j'
    case 'E':
      return count <= 3 ? '%a' : '%A'
    case 'H':
      return '%H'
    case 'h':
      return '%I'
    case 'm':
      return '%M'
    case 's':
      return '%S'
    case 'S':
      return count <= 3 ? '%g' : count <= 6 ? '%f' : '%n'
    case 'a':
      return '%p'
    case 'Z':
      return count <= 2 ? '%z' : '%Z'
    case 'z':
      return '%Z'
    default:
      return undefined
  }
}

const patternPart = /'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'/gy

/**
 * Converts a pattern of letters such as `yyyy-MM-dd'T'HH:mm` to a format of strptime, or returns what is wrong with it.
 */
export function strptimeFormat(pattern: string): { format: string } | { problem: string } {
  const verbatim = (text: string): string => text.replaceAll('%', '%%')
  let format = ''
  let hasYear = false
  for (const [part, quoted, letter] of pattern.matchAll(patternPart)) {
    if (part === "'") return { problem: 'an unclosed quote' }
    if (quoted !== undefined) {
      format += verbatim(quoted === '' ? "'" : quoted.replaceAll("''", "'"))
    } else if (letter !== undefined) {
      const specifier = specifierOf(letter, part.length)
      if (specifier === undefined) return { problem: `the unsupported letter [${letter}]` }
      hasYear ||= letter.toLowerCase() === 'y'
      format += specifier
    } else {
      format += verbatim(part)
    }
  }
  return hasYear ? { format } : { problem: 'no year' }
}

/** Returns SQL for the integer in a text, which may end with `.0`; NULL if it exceeds 64 bits. */
const integerSql = (text: string): string => `TRY_CAST(split_part(${text}, '.', 1) AS BIGINT)`
const isIntegerText = (text: string): string => `regexp_full_match(${text}, '[+-]?[0-9]+([.]0*)?')`

function fromNumber(number: string, unit: string): string {
  const ms =
    unit === 'posix'
      ? `${number} * 1000`
      : unit === 'micro' || unit === 'nano'
        ? floorDivision(number, unitsPerMs[unit])
        : number
  // A number outside the range of instants is NULL, not an error.
  return `TRY(epoch_ms(${ms})::TIMESTAMP_MS)`
}

/** Returns SQL for a timestamp of any precision, truncated (not rounded) to milliseconds. */
const toInstant = (timestamp: string): string =>
  `date_trunc('millisecond', ${timestamp}::TIMESTAMP)::TIMESTAMP_MS`

const isoDate = '[0-9]{4}-[0-9]{2}-[0-9]{2}'
const isoZone = '(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?'

// DuckDB's parser accepts more than ISO 8601 (slashes, names of time zones, "epoch"), but not texts that end at the
// year, the month, the hour, or at the minute before an offset.
function fromIso(text: string): string {
  const is = (pattern: string): string => `regexp_full_match(${text}, ${literal(pattern)})`
  const completed = `CASE
    WHEN ${is(`${isoDate}([T ][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?${isoZone})?`)} THEN ${text}
    WHEN ${is(`${isoDate}[T ][0-9]{2}:[0-9]{2}${isoZone}`)} THEN regexp_replace(${text}, '^(.{16})', '\\1:00')
    WHEN ${is(`${isoDate}[T ][0-9]{2}${isoZone}`)} THEN regexp_replace(${text}, '^(.{13})', '\\1:00:00')
    WHEN ${is('[0-9]{4}-[0-9]{2}')} THEN ${text} || '-01'
    WHEN ${is('[0-9]{4}')} THEN ${text} || '-01-01' END`
  return toInstant(`TRY_CAST(${completed} AS TIMESTAMPTZ)`)
}

const integerTypes = /^(U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT|UHUGEINT)$/
const timestampTypes = /^(DATE|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE)$/

/**
 * Returns SQL for the instant (TIMESTAMP_MS, UTC) in a column of the type: NULL if it has none. isInstantSql checks
 * whether a row may have that instant. Timestamp columns are used as they are, whatever the format. The SQL contains
 * `column` more than once, so it should be a name.
 */
export function instantSql(column: string, type: string, format: string): string {
  if (timestampTypes.test(type)) return toInstant(column)
  if (
    integerTypes.test(type) &&
    format !== 'iso' &&
    namedTimestampFormats.some((named) => named === format)
  ) {
    return fromNumber(`TRY_CAST(${column} AS BIGINT)`, format)
  }
  const text = type === 'VARCHAR' ? column : `CAST(${column} AS VARCHAR)`
  switch (format) {
    case 'auto':
      return `CASE WHEN ${isIntegerText(text)} THEN ${fromNumber(integerSql(text), 'millis')} ELSE ${fromIso(text)} END`
    case 'iso':
      return fromIso(text)
    case 'millis':
    case 'posix':
    case 'micro':
    case 'nano':
      return `CASE WHEN ${isIntegerText(text)} THEN ${fromNumber(integerSql(text), format)} END`
    default: {
      const strptime = strptimeFormat(format)
      if ('problem' in strptime)
        throw new RangeError(`Invalid timestamp format [${format}]: it has ${strptime.problem}`)
      return toInstant(`try_strptime(${text}, ${literal(strptime.format)})`)
    }
  }
}

/** Returns SQL that is true for an instant that a row may have: in the years 0 to 9999. */
export function isInstantSql(instant: string): string {
  return `(${instant} BETWEEN ${instantLiteral(firstInstantMs)} AND ${instantLiteral(lastInstantMs)})`
}
