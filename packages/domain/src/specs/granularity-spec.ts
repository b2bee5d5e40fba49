import {
  bucketOf,
  findGranularity,
  formatPeriod,
  type Granularity,
  granularities,
  periodOf,
} from '../time/index.ts'
import {
  checked,
  converted,
  described,
  isJsonObject,
  type JsonObject,
  optional,
  type Reader,
  readFlag,
  refuse,
} from '../validation/index.ts'

/** How rows are partitioned by time and rolled up. Null leaves the existing data unchanged. */
export interface GranularitySpec {
  readonly segmentGranularity: Granularity | null
  readonly queryGranularity: Granularity | null
  readonly rollup: boolean | null
}

const allowed = `one of [${granularities.join(', ')}]`

// ISO 8601 periods and their granularities.
const byPeriod: ReadonlyMap<string, Granularity> = new Map([
  ['P7D', 'WEEK'],
  ['P1W', 'WEEK'],
  ['P1D', 'DAY'],
  ['PT24H', 'DAY'],
  ['P1M', 'MONTH'],
  ['P3M', 'QUARTER'],
  ['P1Y', 'YEAR'],
  ['P12M', 'YEAR'],
  ['PT1H', 'HOUR'],
  ['PT6H', 'SIX_HOUR'],
  ['PT8H', 'EIGHT_HOUR'],
  ['PT1M', 'MINUTE'],
  ['PT5M', 'FIVE_MINUTE'],
  ['PT10M', 'TEN_MINUTE'],
  ['PT15M', 'FIFTEEN_MINUTE'],
  ['PT30M', 'THIRTY_MINUTE'],
  ['PT1S', 'SECOND'],
])

const lengthOf = (granularity: Granularity): number => {
  const { start, end } = bucketOf(granularity, 0)
  return end - start
}
const ofOneLength = granularities.filter((name) => !['ALL', 'MONTH', 'QUARTER', 'YEAR'].includes(name))

/** Reads a granularity by name, ignoring case. */
export const readGranularityName: Reader<Granularity> = described(
  { type: 'string', description: allowed },
  (json, field) => {
    const found = typeof json === 'string' ? findGranularity(json) : undefined
    if (found === undefined) throw refuse(field, json, allowed)
    return found
  },
)

/** Reads a granularity by name, ignoring case, or from the object form of Druid 37. */
export const readGranularity: Reader<Granularity> = described(
  { type: ['string', 'object'], additionalProperties: true, description: `${allowed}, or an object` },
  (json, field) => {
    if (!isJsonObject(json)) return readGranularityName(json, field)
    const found = ofObject(json)
    if (found === undefined) throw refuse(field, json, allowed)
    return found
  },
)

function ofObject({ type, ...more }: Readonly<Record<string, unknown>>): Granularity | undefined {
  const { period, duration, timeZone = 'UTC', origin = null, ...unknown } = more
  const inUtc = timeZone === null || timeZone === 'UTC' || timeZone === 'Etc/UTC'
  if (!inUtc || origin !== null || Object.keys(unknown).length > 0) return undefined
  if (type === 'all' || type === 'none') return findGranularity(type)
  if (type === 'period' && typeof period === 'string') {
    const parsed = periodOf(period)
    return parsed && byPeriod.get(formatPeriod(parsed))
  }
  if (type === 'duration')
    return ofOneLength.find((granularity) => lengthOf(granularity) === Number(duration))
  return undefined
}

const segmentGranularity = (read: Reader<Granularity>): Reader<Granularity> =>
  checked(
    read,
    (granularity) => granularity !== 'NONE',
    `one of [${granularities.filter((name) => name !== 'NONE').join(', ')}]`,
  )

/** Returns the readers of the fields that every granularitySpec has. `read` reads one granularity. */
export const granularityFields = (read: Reader<Granularity>) => ({
  segmentGranularity: optional(segmentGranularity(read)),
  queryGranularity: optional(read),
  rollup: optional(readFlag),
})

/** Adds the conditions between fields to the reader of a granularitySpec. */
export const checkedGranularitySpec = <Spec extends GranularitySpec>(read: Reader<Spec>): Reader<Spec> =>
  converted(read, (spec, field, json) => {
    if (spec.segmentGranularity === 'ALL' && spec.queryGranularity === 'ALL') {
      throw refuse(
        `${field}.queryGranularity`,
        (json as JsonObject).queryGranularity,
        'a granularity other than [ALL] when [segmentGranularity] is [ALL]',
      )
    }
    return spec
  })
