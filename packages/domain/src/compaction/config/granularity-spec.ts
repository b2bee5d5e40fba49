import {
  bucketOf,
  findGranularity,
  formatPeriod,
  type Granularity,
  granularities,
  readPeriod,
} from '../../time/index.ts'
import {
  described,
  isJsonObject,
  optional,
  type Reader,
  readFields,
  readFlag,
  refuse,
} from '../../validation/index.ts'

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

/** Reads a granularity by name, ignoring case, or from the object form of Druid 37. */
export const readGranularity: Reader<Granularity> = described(
  { type: ['string', 'object'], additionalProperties: true, description: `${allowed}, or an object` },
  (json, field) => {
    const found =
      typeof json === 'string' ? findGranularity(json) : isJsonObject(json) ? ofObject(json) : undefined
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
    const parsed = readPeriod(period)
    return parsed && byPeriod.get(formatPeriod(parsed))
  }
  if (type === 'duration')
    return ofOneLength.find((granularity) => lengthOf(granularity) === Number(duration))
  return undefined
}

const readSegmentGranularity: Reader<Granularity> = described(readGranularity, (json, field) => {
  const granularity = readGranularity(json, field)
  if (granularity === 'NONE') {
    throw refuse(field, json, `one of [${granularities.filter((name) => name !== 'NONE').join(', ')}]`)
  }
  return granularity
})

/** Reads a granularitySpec. */
export const readGranularitySpec: Reader<GranularitySpec> = readFields({
  segmentGranularity: optional(readSegmentGranularity),
  queryGranularity: optional(readGranularity),
  rollup: optional(readFlag),
})
