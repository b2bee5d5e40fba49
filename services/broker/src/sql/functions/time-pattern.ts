import { invalidInput } from '@svc/domain/failure'
import { literal } from '@svc/shared/duckdb'
import { bound } from './bound.ts'
import type { Zone } from './time-zone.ts'

/** A piece of a pattern: a literal text, or a letter and how often it is repeated. */
type Piece = { readonly text: string } | { readonly letter: string; readonly count: number }

/** Returns the pieces of a Joda-Time pattern: letters stand for parts of a time, quotes enclose literal texts. */
function piecesOf(pattern: string): Piece[] {
  const pieces: Piece[] = []
  for (const [part, quoted] of pattern.matchAll(/'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'/g)) {
    if (part === "'") throw invalidInput(`Pattern [${pattern}] has an unclosed quote`)
    if (quoted !== undefined) pieces.push({ text: quoted === '' ? "'" : quoted.replaceAll("''", "'") })
    else if (/^[A-Za-z]/.test(part)) pieces.push({ letter: part.charAt(0), count: part.length })
    else pieces.push({ text: part })
  }
  return pieces
}

const refuse = (letter: string, count: number, allowed: string) =>
  invalidInput(`Unsupported letters [${letter.repeat(count)}] in the pattern: expected ${allowed}`)

const isoPattern = `yyyy-MM-dd'T'HH:mm:ss.SSS`

/** Returns SQL that formats an instant with a pattern; in ISO 8601 format without one. */
export function formatSql(instant: string, pattern: string | undefined, zone: Zone): string {
  return bound('shown', zone.shown(instant), (shown) => shownSql(shown, instant, pattern, zone))
}

function shownSql(shown: string, instant: string, pattern: string | undefined, zone: Zone): string {
  const minutes = `((epoch_ms(${shown}) - epoch_ms(${instant})) // 60000)`
  const offset = (colon: string): string =>
    `(CASE WHEN ${minutes} < 0 THEN '-' ELSE '+' END || printf('%02d', abs(${minutes}) // 60) || '${colon}' || printf('%02d', abs(${minutes}) % 60))`
  const digits = (value: string, count: number): string => `printf('%0${count}d', CAST(${value} AS BIGINT))`
  const year = (value: string, count: number): string =>
    count === 2 ? digits(`${value} % 100`, 2) : digits(value, count)
  const piece = (one: Piece): string => {
    if ('text' in one) return literal(one.text)
    const { letter, count } = one
    switch (letter) {
      case 'y':
      case 'Y':
        return year(`year(${shown})`, count)
      case 'x':
        return year(`isoyear(${shown})`, count)
      case 'M':
        return count < 3
          ? digits(`month(${shown})`, count)
          : `strftime(${shown}, '${count === 3 ? '%b' : '%B'}')`
      case 'w':
        return digits(`week(${shown})`, count)
      case 'd':
        return digits(`day(${shown})`, count)
      case 'D':
        return digits(`dayofyear(${shown})`, count)
      case 'e':
        return digits(`isodow(${shown})`, count)
      case 'E':
        return `strftime(${shown}, '${count < 4 ? '%a' : '%A'}')`
      case 'a':
        return `strftime(${shown}, '%p')`
      case 'H':
        return digits(`hour(${shown})`, count)
      case 'k':
        return digits(`(hour(${shown}) + 23) % 24 + 1`, count)
      case 'K':
        return digits(`hour(${shown}) % 12`, count)
      case 'h':
        return digits(`(hour(${shown}) + 11) % 12 + 1`, count)
      case 'm':
        return digits(`minute(${shown})`, count)
      case 's':
        return digits(`second(${shown})`, count)
      case 'S':
        return `system.main.rpad(left(${digits(`(epoch_ms(${shown}) % 1000 + 1000) % 1000`, 3)}, ${count}), ${count}, '0')`
      case 'Z':
        if (count > 2) return literal(zone.name)
        return offset(count === 2 ? ':' : '')
      default:
        throw refuse(letter, count, 'one of [y, Y, x, M, w, d, D, e, E, a, H, k, K, h, m, s, S, Z]')
    }
  }
  const pieces = piecesOf(pattern ?? isoPattern).map(piece)
  if (pattern === undefined) pieces.push(`CASE WHEN ${minutes} = 0 THEN 'Z' ELSE ${offset(':')} END`)
  return pieces.length === 0 ? `CASE WHEN (${instant}) IS NULL THEN NULL ELSE '' END` : pieces.join(' || ')
}

// One group for each part, in ISO 8601 order.
const isoForm =
  '^([+-]?\\d{1,9})(?:-(\\d{1,2})(?:-(\\d{1,2}))?)?(?:[T ](?:(\\d{1,2})(?::(\\d{1,2})(?::(\\d{1,2})(?:[.,](\\d{1,9}))?)?)?)?(Z|[+-]\\d{2}(?::?\\d{2})?)?)?$'
const isoNames = ['year', 'month', 'day', 'hour', 'minute', 'second', 'fraction', 'zone']
// Valid ISO 8601 forms that svc does not support.
const unreadForm =
  '^[+-]?\\d{1,9}-(?:W\\d|\\d{3})|[T ]\\d{1,2}(?::\\d{1,2})?[.,]\\d|[+-]\\d{2}:?\\d{2}:?\\d{2}$'

/** Returns SQL that parses a text with a pattern, or as ISO 8601 without one; NULL if the text does not match. */
export function parseSql(text: string, pattern: string | undefined, zone: Zone): string {
  if (pattern !== undefined) {
    const { form, names } = formOf(pattern)
    return partsSql(text, form, names, zone)
  }
  return `CASE WHEN regexp_matches(${text}, ${literal(`(?i)${unreadForm}`)})
    THEN error('TIME_PARSE does not support weeks, days of the year, fractions of minutes, or offsets with seconds: ' || ${text})
    ELSE ${partsSql(text, isoForm, isoNames, zone)} END`
}

/** Returns the regular expression for a pattern and the names of its groups. */
function formOf(pattern: string): { readonly form: string; readonly names: readonly string[] } {
  const pieces = piecesOf(pattern)
  const names: string[] = []
  const form = pieces.map((piece, index) => {
    if ('text' in piece) return piece.text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')
    const { letter, count } = piece
    const group = (name: string, inner: string): string => {
      if (names.includes(name)) throw invalidInput(`Duplicate letter [${letter}] in the pattern`)
      names.push(name)
      return `(${inner})`
    }
    const few = `\\d{1,${Math.max(count, 2)}}`
    const next = pieces[index + 1]
    const isNextToDigits = next !== undefined && 'letter' in next && /[MdHhmsSDkK]/.test(next.letter)
    if (letter === 'y' && count !== 2)
      return group('year', isNextToDigits ? `\\d{1,${count}}` : '[+-]?\\d{1,9}')
    if (letter === 'M') return group(count < 3 ? 'month' : 'monthName', count < 3 ? few : monthForm)
    if (letter === 'd') return group('day', few)
    if (letter === 'H') return group('hour', few)
    if (letter === 'h') return group('halfHour', few)
    if (letter === 'a') return group('half', 'AM|PM')
    if (letter === 'm') return group('minute', few)
    if (letter === 's') return group('second', few)
    if (letter === 'S') return group('fraction', `\\d{1,${count}}`)
    if (letter === 'Z' && count < 3) return group('zone', 'Z|[+-]\\d{2}(?::?\\d{2})?')
    throw refuse(letter, count, 'one of [yyyy, M, d, H, h, a, m, s, S, Z, ZZ]')
  })
  if (names.includes('half') !== names.includes('halfHour'))
    throw invalidInput('The pattern has only one of [h] and [a]: expected both or neither')
  return { form: `^${form.join('')}$`, names }
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const monthForm =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?'

function partsSql(text: string, form: string, names: readonly string[], zone: Zone): string {
  const pattern = literal(`(?i)${form}`)
  const groups = `CASE WHEN regexp_matches(${text}, ${pattern}) THEN system.main.regexp_extract(${text}, ${pattern}, [${names.map((name) => `'${name}'`).join(', ')}]) END`
  return bound('groups', groups, (found) =>
    bound('shown', shownTimeSql(found, names), (shown) => instantSql(found, names, shown, zone)),
  )
}

const partOf = (groups: string, name: string): string => `nullif(struct_extract(${groups}, '${name}'), '')`

/** Returns SQL for the local time with the parts of a text; NULL if there is no such time. */
function shownTimeSql(groups: string, names: readonly string[]): string {
  const part = (name: string): string => partOf(groups, name)
  const number = (name: string, otherwise: string): string =>
    names.includes(name) ? `coalesce(CAST(${part(name)} AS BIGINT), ${otherwise})` : otherwise
  const month = names.includes('monthName')
    ? `list_position([${monthNames.map((name) => `'${name}'`).join(', ')}], lower(left(${part('monthName')}, 3)))`
    : number('month', '1')
  const hour = names.includes('halfHour')
    ? `(CASE WHEN ${number('halfHour', '0')} BETWEEN 1 AND 12 THEN ${number('halfHour', '0')} % 12 END + CASE WHEN upper(${part('half')}) = 'PM' THEN 12 ELSE 0 END)`
    : number('hour', '0')
  const second = number('second', '0')
  const millis = names.includes('fraction')
    ? `CAST(left(system.main.rpad(coalesce(${part('fraction')}, '0'), 3, '0'), 3) AS BIGINT)`
    : '0'
  // make_timestamp would turn second 60 into the next minute.
  const time = `CASE WHEN ${groups} IS NOT NULL AND ${hour} < 24 AND ${second} < 60 THEN make_timestamp(${number('year', '1970')}, ${month}, ${number('day', '1')}, ${hour}, ${number('minute', '0')}, ${second}) END`
  return `TRY(${time}) + to_milliseconds(${millis})`
}

/** Returns SQL for the instant of a local time, in the time zone of the text or, without one, of the call. */
function instantSql(groups: string, names: readonly string[], shown: string, zone: Zone): string {
  // A local time that the time zone skips is invalid.
  const inZone = bound(
    'here',
    zone.firstInstant(shown),
    (here) => `CASE WHEN ${zone.shown(here)} = ${shown} THEN ${here} END`,
  )
  if (!names.includes('zone')) return inZone
  return bound('offset', partOf(groups, 'zone'), (offset) => {
    const digits = `system.main.rpad(replace(substr(${offset}, 2), ':', ''), 4, '0')`
    const minutes = `(CASE left(${offset}, 1) WHEN '-' THEN -1 ELSE 1 END * (CAST(left(${digits}, 2) AS BIGINT) * 60 + CAST(right(${digits}, 2) AS BIGINT)))`
    return `CASE WHEN ${offset} IS NULL THEN ${inZone} WHEN upper(${offset}) = 'Z' THEN ${shown} ELSE ${shown} - to_minutes(${minutes}) END`
  })
}
