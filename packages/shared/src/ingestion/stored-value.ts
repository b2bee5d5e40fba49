import type { SegmentColumn } from '@svc/domain/segment'
import { storedTypes } from '../duckdb/index.ts'
import type { SourceColumn } from './input-relation.ts'

/** The types of segment columns; only a discovered column can be a boolean. */
export type StoredType = SegmentColumn['type']

const integerType = /^(TINYINT|SMALLINT|INTEGER|BIGINT|UTINYINT|USMALLINT|UINTEGER)$/
const wideType = /^(UBIGINT|HUGEINT|UHUGEINT)$/
const fractionType = /^(FLOAT|DOUBLE|DECIMAL\(.*\))$/
const nestedType = /\[\d*\]$|^(STRUCT|MAP|UNION)\(/

const integerPattern = '[+-]?[0-9]+'
const numberText = '[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?'

function fromText(text: string, as: StoredType): string {
  const number = `CASE WHEN regexp_full_match(${text}, '${numberText}') THEN TRY_CAST(${text} AS DOUBLE) END`
  switch (as) {
    case 'string':
      return text
    case 'long':
      // Druid truncates fractions; a cast would round them.
      return `CASE WHEN regexp_full_match(${text}, '${integerPattern}') THEN TRY_CAST(${text} AS BIGINT) ELSE TRY_CAST(trunc(${number}) AS BIGINT) END`
    case 'boolean':
      return `TRY_CAST(${text} AS BOOLEAN)`
    default:
      return `TRY_CAST(CASE WHEN isfinite(${number}) THEN ${number} END AS ${storedTypes[as]})`
  }
}

/**
 * Returns SQL for the stored value of a column: NULL if the column has no value or one that does not match the type.
 */
export function storedValueSql({ sql, type }: SourceColumn, as: StoredType): string {
  if (type === 'VARCHAR') return fromText(sql, as)
  if (as === 'string')
    return nestedType.test(type) ? `CAST(to_json(${sql}) AS VARCHAR)` : `CAST(${sql} AS VARCHAR)`
  const isNumber = integerType.test(type) || wideType.test(type) || type === 'BOOLEAN'
  if (isNumber) return `TRY_CAST(${sql} AS ${storedTypes[as]})`
  if (fractionType.test(type)) {
    return `TRY_CAST(${as === 'long' ? `trunc(${sql})` : sql} AS ${storedTypes[as]})`
  }
  return fromText(`CAST(${sql} AS VARCHAR)`, as)
}

/** Returns SQL that is true if the column has a value that is lost because it does not match the type. */
export function lostValueSql({ sql, type }: SourceColumn, as: StoredType, stored: string): string {
  if (as === 'string') return 'false'
  const isThere = type === 'VARCHAR' ? `${sql} IS NOT NULL AND ${sql} <> ''` : `${sql} IS NOT NULL`
  return `(${isThere} AND ${stored} IS NULL)`
}

/**
 * Returns the stored type of a discovered column of a typed format: numbers and booleans stay as they are, the rest is
 * a string.
 */
export function storedTypeOf(type: string): StoredType {
  if (integerType.test(type)) return 'long'
  if (type === 'FLOAT') return 'float'
  if (fractionType.test(type)) return 'double'
  return type === 'BOOLEAN' ? 'boolean' : 'string'
}

// The kinds of values in a discovered column, as bits.
const kinds = { whole: 1, fraction: 2, truth: 4, other: 8 } as const

/**
 * Returns SQL that aggregates the kinds of values in a discovered text column, from which storedTypeOfKinds derives a
 * type that loses nothing. CSV values that only look like numbers (`007`, `+5`, 20 digits) do not count as numbers.
 */
export function kindsSql({ sql, jsonType }: SourceColumn): string {
  const isComplete = `(regexp_full_match(${sql}, '0|-?[1-9][0-9]{0,17}')
    OR (regexp_full_match(${sql}, '-?[1-9][0-9]{18}') AND TRY_CAST(${sql} AS BIGINT) IS NOT NULL))`
  const kind =
    jsonType === undefined
      ? `WHEN ${isComplete} THEN ${kinds.whole}
         WHEN regexp_full_match(${sql}, '-?(0|[1-9][0-9]*)[.][0-9]+') THEN ${kinds.fraction}`
      : `WHEN ${jsonType} IN ('BIGINT', 'UBIGINT') AND ${isComplete} THEN ${kinds.whole}
         WHEN ${jsonType} = 'DOUBLE' THEN ${kinds.fraction}
         WHEN ${jsonType} = 'BOOLEAN' THEN ${kinds.truth}`
  return `bit_or(CASE WHEN ${sql} IS NULL THEN 0 ${kind} ELSE ${kinds.other} END)`
}

/** Returns the stored type for a result of kindsSql. */
export function storedTypeOfKinds(found: number): StoredType {
  if (found === kinds.whole) return 'long'
  if (found === kinds.fraction || found === (kinds.whole | kinds.fraction)) return 'double'
  return found === kinds.truth ? 'boolean' : 'string'
}
