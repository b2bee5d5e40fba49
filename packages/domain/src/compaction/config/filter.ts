import { invalidInput } from '../../failure/index.ts'
import { formatInterval, readInterval } from '../../time/index.ts'
import {
  checked,
  converted,
  described,
  optional,
  type Reader,
  readByType,
  readFields,
  readFlag,
  readList,
  readName,
  readOneOf,
  readText,
  refuse,
  titled,
  withoutNulls,
} from '../../validation/index.ts'

/** A value that a filter compares columns with. */
export type FilterValue = string | number

/** A filter for the rows to keep, as in JSON. Absent fields are omitted. */
export type RowFilter =
  | { readonly type: 'true' }
  | { readonly type: 'false' }
  | { readonly type: 'and' | 'or'; readonly fields: readonly RowFilter[] }
  | { readonly type: 'not'; readonly field: RowFilter }
  | { readonly type: 'selector'; readonly dimension: string; readonly value?: FilterValue }
  | {
      readonly type: 'equals'
      readonly column: string
      readonly matchValueType: string
      readonly matchValue: FilterValue
    }
  | { readonly type: 'null'; readonly column: string }
  | { readonly type: 'in'; readonly dimension: string; readonly values: readonly (FilterValue | null)[] }
  | {
      readonly type: 'bound'
      readonly dimension: string
      readonly lower?: FilterValue
      readonly upper?: FilterValue
      readonly lowerStrict?: boolean
      readonly upperStrict?: boolean
      readonly ordering?: 'lexicographic' | 'numeric'
    }
  | {
      readonly type: 'range'
      readonly column: string
      readonly matchValueType: string
      readonly lower?: FilterValue
      readonly upper?: FilterValue
      readonly lowerOpen?: boolean
      readonly upperOpen?: boolean
    }
  | { readonly type: 'like'; readonly dimension: string; readonly pattern: string; readonly escape?: string }
  | { readonly type: 'interval'; readonly dimension: '__time'; readonly intervals: readonly string[] }

const column = readName()
// Longer than any useful filter value. A string of several megabytes would block the server while it is being stored.
const maxValueLength = 65_536
const value: Reader<FilterValue> = described(
  { type: ['string', 'number'], maxLength: maxValueLength },
  (json, field) => {
    if (typeof json === 'string' && json.length <= maxValueLength) return json
    if (typeof json === 'number' && Number.isFinite(json)) return json
    throw refuse(field, json, `a number or a string of at most ${maxValueLength} characters`)
  },
)
const pattern = checked(
  readText,
  (text) => text.length <= maxValueLength,
  `a LIKE pattern of at most ${maxValueLength} characters`,
)
const valueType = readOneOf(['STRING', 'LONG', 'FLOAT', 'DOUBLE'])
const interval: Reader<string> = converted(readInterval, formatInterval)
const character = checked(
  readText,
  // One character has at most two UTF-16 units.
  (text) => text.length <= 2 && [...text].length === 1,
  'a single character',
)
const type = <const Type extends string>(name: Type) => readOneOf([name])
// Reads the fields and omits the absent ones.
const kept = (read: Reader<object>): Reader<RowFilter> =>
  converted(read, (value) => withoutNulls(value) as RowFilter)

const fieldsOf = (name: 'and' | 'or') =>
  kept(
    readFields({
      type: type(name),
      fields: readList(nested, { min: 1 }),
    }),
  )

const bounded = kept(
  readFields({
    type: type('bound'),
    dimension: column,
    lower: optional(value),
    upper: optional(value),
    lowerStrict: optional(readFlag),
    upperStrict: optional(readFlag),
    ordering: optional(readOneOf(['lexicographic', 'numeric'])),
  }),
)
const ranged = kept(
  readFields({
    type: type('range'),
    column,
    matchValueType: valueType,
    lower: optional(value),
    upper: optional(value),
    lowerOpen: optional(readFlag),
    upperOpen: optional(readFlag),
  }),
)
const withABound = (read: Reader<RowFilter>): Reader<RowFilter> =>
  converted(read, (value, field) => {
    const filter = value as { lower?: FilterValue; upper?: FilterValue } & RowFilter
    if (filter.lower === undefined && filter.upper === undefined) {
      throw refuse(`${field}.lower`, undefined, 'a string or a number, unless [upper] is set')
    }
    return filter
  })

// Recursive functions read nested filters, write them, and convert them to SQL.
const maxLevels = 100

// A filter inside another filter.
const nested: Reader<RowFilter> = described(
  {
    type: 'object',
    required: ['type'],
    properties: { type: { type: 'string' } },
    additionalProperties: true,
  },
  (json, field) => {
    // The field path has one part per level.
    if (field.split('.').length > maxLevels)
      throw invalidInput(`The filter is nested too deeply: expected at most [${maxLevels - 1}] levels`, {
        field: 'filter',
      })
    return readFilter(json, field)
  },
)

/** Reads a row filter. */
export const readFilter: Reader<RowFilter> = titled(
  'RowFilter',
  readByType<RowFilter>({
    true: kept(readFields({ type: type('true') })),
    false: kept(readFields({ type: type('false') })),
    and: fieldsOf('and'),
    or: fieldsOf('or'),
    not: kept(readFields({ type: type('not'), field: nested })),
    selector: kept(readFields({ type: type('selector'), dimension: column, value: optional(value) })),
    equals: kept(readFields({ type: type('equals'), column, matchValueType: valueType, matchValue: value })),
    null: kept(readFields({ type: type('null'), column })),
    in: kept(
      readFields({
        type: type('in'),
        dimension: column,
        values: readList(optional(value), { max: 100_000 }),
      }),
    ),
    bound: withABound(bounded),
    range: withABound(ranged),
    like: kept(readFields({ type: type('like'), dimension: column, pattern, escape: optional(character) })),
    interval: kept(
      readFields({
        type: type('interval'),
        dimension: readOneOf(['__time']),
        intervals: readList(interval, { min: 1 }),
      }),
    ),
  }),
)
