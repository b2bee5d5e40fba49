import { invalidInput } from '@svc/domain/failure'
import { parseInterval } from '@svc/domain/time'
import { literal } from '@svc/shared/duckdb'
import { bound } from './bound.ts'
import { ceilSql, floorSql, readBucketPeriod, shiftSql } from './time-buckets.ts'
import { formatSql, parseSql } from './time-pattern.ts'
import { differenceSql, partSql, periodOfUnit } from './time-units.ts'
import { readZone } from './time-zone.ts'

/** An argument of a call: its string, null, or undefined if its value is known only when the query runs. */
export type CallArgument = string | null | undefined

/** A function that is defined as a macro. */
export interface DefinedFunction {
  readonly min: number
  readonly max: number
  /** Indexes of arguments that must be string literals; the macro depends on them. */
  readonly literals?: readonly number[]
  /** Indexes of arguments that may be NULL, which is the same as omitting them. */
  readonly optional?: readonly number[]
  /** Returns the SQL of the macro for these literals; the other arguments are undefined. */
  body(given: readonly CallArgument[]): string
}

/** The name of a parameter in the SQL of a macro. */
export const parameterOf = (place: number): string => `a${place}`
const [a, b, c] = [0, 1, 2].map(parameterOf) as [string, string, string]
const instant = `CAST(${a} AS TIMESTAMP)`
const text = `CAST(${a} AS VARCHAR)`

const maxConcatenatedArguments = 50

const plain = (min: number, max: number, body: (count: number) => string): DefinedFunction => ({
  min,
  max,
  body: ({ length }) => body(length),
})
const sameForAllTypes = (count: number, body: string): DefinedFunction => plain(count, count, () => body)

const zoneOf = (given: CallArgument) => readZone(given ?? 'UTC')
const originOf = (given: readonly CallArgument[]): string | undefined =>
  given.length > 2 && given[2] !== null ? `CAST(${c} AS TIMESTAMP)` : undefined

const rounded = (name: 'floor' | 'ceil'): DefinedFunction => ({
  min: 1,
  max: 2,
  literals: [1],
  body: ([, unit]) => {
    if (unit === undefined) return `system.main.${name}(${a})`
    const period = periodOfUnit(String(unit))
    const sql = name === 'floor' ? floorSql : ceilSql
    return sql(instant, period, readZone('UTC'), undefined)
  },
})

const trimmed = (name: string): DefinedFunction =>
  plain(1, 2, (count) => `system.main.${name}(${text}, ${count > 1 ? b : "' '"})`)
const padded = (name: string): DefinedFunction =>
  plain(2, 3, (count) => (count < 3 ? `system.main.${name}(${text}, ${b}, ' ')` : padWith(name)))
// With an empty padding, the string is not padded.
const padWith = (name: string): string =>
  `CASE WHEN ${c} = '' THEN system.main.left(${text}, ${b}) ELSE system.main.${name}(${text}, ${b}, CASE ${c} WHEN '' THEN ' ' ELSE ${c} END) END`

const bucket = (sql: typeof floorSql): DefinedFunction => ({
  min: 2,
  max: 4,
  literals: [1, 3],
  optional: [2, 3],
  body: (given) => sql(instant, readBucketPeriod(String(given[1])), zoneOf(given[3]), originOf(given)),
})

const withoutEnd = `system.main.regexp_replace(${text}, '(?:' || ${b} || ')+$', '')`
const digitsOfNumbers = '0123456789abcdefghijklmnopqrstuvwxyz'

/** Functions of Druid SQL that DuckDB lacks, or that mean something else in DuckDB, by name in lower case. */
export const druidFunctions: Readonly<Record<string, DefinedFunction>> = {
  // Times.
  time_floor: bucket(floorSql),
  time_ceil: bucket(ceilSql),
  time_shift: {
    min: 3,
    max: 4,
    literals: [1, 3],
    optional: [3],
    body: ([, period, , zone]) => shiftSql(instant, readBucketPeriod(String(period)), c, zoneOf(zone)),
  },
  time_extract: {
    min: 2,
    max: 3,
    literals: [1, 2],
    optional: [2],
    body: ([, unit, zone]) => partSql(instant, String(unit), zoneOf(zone)),
  },
  // DuckDB parses EXTRACT as date_part.
  date_part: {
    min: 2,
    max: 2,
    literals: [0],
    body: ([unit]) => partSql(`CAST(${b} AS TIMESTAMP)`, String(unit), readZone('UTC')),
  },
  time_format: {
    min: 1,
    max: 3,
    literals: [1, 2],
    optional: [1, 2],
    body: ([, pattern, zone]) => formatSql(instant, pattern ?? undefined, zoneOf(zone)),
  },
  time_parse: {
    min: 1,
    max: 3,
    literals: [1, 2],
    optional: [1, 2],
    body: ([, pattern, zone]) => parseSql(text, pattern ?? undefined, zoneOf(zone)),
  },
  time_in_interval: {
    min: 2,
    max: 2,
    literals: [1],
    body: ([, interval]) => {
      const { start, end } = parseInterval(String(interval), 'interval')
      // A single comparison that uses the instant once lets DuckDB skip files.
      const last = `epoch_ms(${end}) - to_microseconds(1)`
      if (Number.isFinite(start) && Number.isFinite(end))
        return `(${instant} BETWEEN epoch_ms(${start}) AND ${last})`
      if (Number.isFinite(start)) return `(${instant} >= epoch_ms(${start}))`
      return Number.isFinite(end) ? `(${instant} <= ${last})` : `(${instant} IS NOT NULL)`
    },
  },
  millis_to_timestamp: sameForAllTypes(1, `epoch_ms(CAST(${a} AS BIGINT))`),
  timestamp_to_millis: sameForAllTypes(1, `epoch_ms(${instant})`),
  timestampadd: {
    min: 3,
    max: 3,
    literals: [0],
    body: ([unit]) => shiftSql(`CAST(${c} AS TIMESTAMP)`, periodOfUnit(String(unit)), b, readZone('UTC')),
  },
  timestampdiff: {
    min: 3,
    max: 3,
    literals: [0],
    body: ([unit]) => differenceSql(String(unit), `CAST(${b} AS TIMESTAMP)`, `CAST(${c} AS TIMESTAMP)`),
  },
  floor: rounded('floor'),
  ceil: rounded('ceil'),
  ceiling: rounded('ceil'),
  // Numbers.
  safe_divide: sameForAllTypes(2, `CASE WHEN ${b} = 0 THEN NULL ELSE ${a} // ${b} END`),
  div: sameForAllTypes(2, `CAST(trunc(${a} // ${b}) AS BIGINT)`),
  truncate: plain(1, 2, (count) => (count > 1 ? `trunc(${a}, ${b})` : `trunc(${a})`)),
  bitwise_and: sameForAllTypes(2, `CAST(${a} AS BIGINT) & CAST(${b} AS BIGINT)`),
  bitwise_or: sameForAllTypes(2, `CAST(${a} AS BIGINT) | CAST(${b} AS BIGINT)`),
  bitwise_xor: sameForAllTypes(2, `xor(CAST(${a} AS BIGINT), CAST(${b} AS BIGINT))`),
  bitwise_complement: sameForAllTypes(1, `~CAST(${a} AS BIGINT)`),
  parse_long: plain(1, 2, (count) => parseLong(count > 1 ? b : '10')),
  // Strings.
  btrim: trimmed('trim'),
  trim: trimmed('trim'),
  ltrim: trimmed('ltrim'),
  rtrim: trimmed('rtrim'),
  lpad: padded('lpad'),
  rpad: padded('rpad'),
  strlen: sameForAllTypes(1, `length(${text})`),
  contains_string: sameForAllTypes(2, `contains(${text}, CAST(${b} AS VARCHAR))`),
  icontains_string: sameForAllTypes(2, `contains(lower(${text}), lower(CAST(${b} AS VARCHAR)))`),
  concat: plain(1, maxConcatenatedArguments, (count) => {
    const texts = Array.from({ length: count }, (_, place) => `CAST(${parameterOf(place)} AS VARCHAR)`)
    // In DuckDB, the concatenation of only NULLs is not a string, so cast the result.
    return `CAST(${texts.join(' || ')} AS VARCHAR)`
  }),
  textcat: sameForAllTypes(2, `${text} || CAST(${b} AS VARCHAR)`),
  regexp_like: sameForAllTypes(2, `regexp_matches(${text}, ${b})`),
  regexp_extract: plain(
    2,
    4,
    (count) =>
      `CASE WHEN regexp_matches(${text}, ${b}) THEN system.main.regexp_extract(${[text, b, c, parameterOf(3)].slice(0, count).join(', ')}) END`,
  ),
  regexp_replace: {
    min: 3,
    max: 4,
    literals: [2],
    body: ([, , replacement, ...more]) =>
      more.length > 0
        ? `system.main.regexp_replace(${text}, ${b}, ${c}, ${parameterOf(3)})`
        : `system.main.regexp_replace(${text}, ${b}, ${literal(replacementOf(String(replacement)))}, 'g')`,
  },
  // Trailing empty strings are omitted.
  string_to_array: sameForAllTypes(
    2,
    `CASE WHEN ${text} = '' THEN [''] WHEN ${withoutEnd} = '' THEN [] ELSE string_split_regex(${withoutEnd}, ${b}) END`,
  ),
  // Others.
  nvl: sameForAllTypes(2, `coalesce(${a}, ${b})`),
}

/** The names of these functions. */
export const definedFunctions: ReadonlySet<string> = new Set(Object.keys(druidFunctions))

function parseLong(radix: string): string {
  const digits = `system.main.regexp_replace(lower(${text}), CASE ${radix} WHEN 16 THEN '^(0x|[+-])' ELSE '^[+-]' END, '')`
  const placesOf = (all: string) =>
    `list_transform(string_split(${all}, ''), lambda svc_digit: system.main.strpos('${digitsOfNumbers}', svc_digit) - 1)`
  const sign = `CASE system.main.left(${text}, 1) WHEN '-' THEN -1 ELSE 1 END`
  return bound('digits', digits, (all) =>
    bound(
      'places',
      placesOf(all),
      (places) =>
        `CASE WHEN ${all} <> '' AND length(${all}) < 65 AND list_min(${places}) >= 0 AND list_max(${places}) < ${radix}
          THEN TRY_CAST(TRY(${sign} * list_reduce(${places}, lambda svc_sum, svc_place: svc_sum * ${radix} + svc_place, CAST(0 AS HUGEINT))) AS BIGINT) END`,
    ),
  )
}

/** Converts a replacement from the syntax of Java to that of DuckDB. */
function replacementOf(written: string): string {
  let text = ''
  for (let at = 0; at < written.length; at++) {
    const character = written.charAt(at)
    const next = written.charAt(at + 1)
    if (character === '$') {
      if (!/^\d(?!\d)/.test(written.slice(at + 1)))
        throw invalidInput(
          `Invalid value [${written}] for [replacement]: expected group references from $0 to $9, and \\$ for a literal dollar sign`,
        )
      text += `\\${next}`
      at += 1
    } else if (character === '\\') {
      text += next === '\\' ? '\\\\' : next
      at += 1
    } else text += character
  }
  return text
}
