import { type Interval, parseInterval, readInterval } from '@svc/domain/time'
import {
  converted,
  described,
  omittable,
  type Reader,
  readList,
  refuse,
  schemaOf,
} from '@svc/domain/validation'

/** Reads a query parameter that is true if present, regardless of its value (`?full`). */
export const presence: Reader<boolean> = described({}, (value) => value !== undefined)

/** Like `presence`, but the value `false` has its usual meaning: for parameters that allow what is otherwise forbidden. */
export const presenceUnlessFalse: Reader<boolean> = described(
  {},
  // It may be repeated.
  (value) => value !== undefined && ![value].flat().every((one) => one === 'false'),
)

/** Reads a query parameter that may not be repeated. */
export const textParameter: Reader<string> = described({ type: 'string' }, (value, field) => {
  if (typeof value !== 'string') throw refuse(field, value, 'a single string')
  return value
})

/** Reads a query parameter that is an integer from `min` to `max`. */
export const integerParameter = (min: number, max: number): Reader<number> =>
  described({ type: 'integer', minimum: min, maximum: max }, (value, field) => {
    const text = textParameter(value, field)
    const number = /^(0|-?[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= min && number <= max)) throw refuse(field, value, `an integer from ${min} to ${max}`)
    return number
  })

/** Reads a query parameter that may be repeated. */
export const severalOf = <Value>(read: Reader<Value>): Reader<readonly Value[]> => {
  const readSeveral = readList(read)
  return described({ anyOf: [schemaOf(read), schemaOf(readSeveral)] }, (value, field) =>
    Array.isArray(value) ? readSeveral(value, field) : [read(value, field)],
  )
}

/** Max value of a count that has no other limit. */
const maxCount = 999_999_999

/** Reads a query parameter that is a positive integer. */
export const positiveCount = (max = maxCount): Reader<number> => integerParameter(1, max)

/** Reads a query parameter that is an ISO 8601 interval. */
export const intervalParameter: Reader<Interval> = described(
  readInterval,
  converted(textParameter, (text) => parseInterval(text)),
)

/** The query parameters of the history endpoints. */
export const historyParameters = {
  interval: omittable(intervalParameter),
  count: omittable(positiveCount()),
}
