import { invalidInput } from '../failure/index.ts'
import {
  described,
  optional,
  type Reader,
  readByType,
  readFields,
  readFlag,
  readList,
  readName,
  readOneOf,
  readWhole,
  refuse,
  schemaOf,
  titled,
} from '../validation/index.ts'

/** Rows are cut after so many, as they come. */
export interface DynamicPartitionsSpec {
  readonly type: 'dynamic'
  readonly maxRowsPerSegment: number
  readonly maxTotalRows: number | null
}

/** Rows go by the hash of dimensions: into so many segments, or into as many as the rows need. */
export interface HashedPartitionsSpec {
  readonly type: 'hashed'
  readonly numShards: number | null
  /** All dimensions where it is empty. */
  readonly partitionDimensions: readonly string[]
  readonly partitionFunction: 'murmur3_32_abs'
  /** Null where numShards is given. */
  readonly maxRowsPerSegment: number | null
}

/** Rows lie sorted by dimensions, and are cut between two of their values. */
export interface RangePartitionsSpec {
  readonly type: 'range'
  /** One of the two is given. */
  readonly targetRowsPerSegment: number | null
  readonly maxRowsPerSegment: number | null
  readonly partitionDimensions: readonly string[]
  readonly assumeGrouped: boolean
}

/** How the rows of one interval are spread over segments. */
export type PartitionsSpec = DynamicPartitionsSpec | HashedPartitionsSpec | RangePartitionsSpec

/** Rows of a segment where nothing else is said. */
const defaultRowsPerSegment = 5_000_000
const mostRows = 2_147_483_647
// One more than a 64-bit number holds; JSON cannot tell the two apart.
const mostTotalRows = 2 ** 63

// The recorded system writes -1 for what is not given.
const orNone = (read: Reader<number>): Reader<number | null> =>
  described({ ...schemaOf(optional(read)), minimum: -1 }, (json, field) =>
    json === -1 ? null : optional(read)(json, field),
  )
const rowCount = orNone(readWhole(1, mostRows))
const names = (least: number) => readList(readName(), { least, most: 1000 })
const type = <const Type extends string>(name: Type) => readOneOf([name])

function assertOneGiven(values: Readonly<Record<string, unknown>>, owner: string): void {
  const given = Object.keys(values).filter((name) => values[name] !== null)
  if (given.length > 1) {
    throw invalidInput(`${owner} has both ${given.join(' and ')}; expected one of them`, {
      field: `${owner}.${given[1]}`,
    })
  }
}

const dynamicFields = readFields({
  type: type('dynamic'),
  maxRowsPerSegment: rowCount,
  maxTotalRows: orNone(readWhole(1, mostTotalRows)),
})
const readDynamic: Reader<DynamicPartitionsSpec> = described(dynamicFields, (json, field) => {
  const spec = dynamicFields(json, field)
  return { ...spec, maxRowsPerSegment: spec.maxRowsPerSegment ?? defaultRowsPerSegment }
})

const hashedFields = readFields({
  type: type('hashed'),
  numShards: orNone(readWhole(1, 100_000)),
  partitionDimensions: optional(names(0), []),
  partitionFunction: optional(readOneOf(['murmur3_32_abs']), 'murmur3_32_abs' as const),
  maxRowsPerSegment: rowCount,
  targetRowsPerSegment: rowCount,
})
const readHashed: Reader<HashedPartitionsSpec> = described(hashedFields, (json, field) => {
  const { targetRowsPerSegment, ...spec } = hashedFields(json, field)
  const { numShards } = spec
  assertOneGiven({ targetRowsPerSegment, maxRowsPerSegment: spec.maxRowsPerSegment, numShards }, field)
  const given = targetRowsPerSegment ?? spec.maxRowsPerSegment
  return { ...spec, maxRowsPerSegment: numShards === null ? (given ?? defaultRowsPerSegment) : null }
})

const rangeFields = readFields({
  type: type('range'),
  targetRowsPerSegment: rowCount,
  maxRowsPerSegment: rowCount,
  partitionDimensions: names(1),
  assumeGrouped: optional(readFlag, false),
})
const readRange: Reader<RangePartitionsSpec> = described(rangeFields, (json, field) => {
  const spec = rangeFields(json, field)
  const { targetRowsPerSegment, maxRowsPerSegment } = spec
  assertOneGiven({ targetRowsPerSegment, maxRowsPerSegment }, field)
  if (targetRowsPerSegment === null && maxRowsPerSegment === null) {
    throw refuse(
      `${field}.targetRowsPerSegment`,
      undefined,
      'a whole number from 1, or maxRowsPerSegment in its place',
    )
  }
  return spec
})

/** A partitionsSpec with its defaults. */
export const readPartitionsSpec: Reader<PartitionsSpec> = titled(
  'PartitionsSpec',
  readByType<PartitionsSpec>({
    dynamic: readDynamic,
    hashed: readHashed,
    range: readRange,
  }),
)
