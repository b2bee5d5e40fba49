import { invalidInput } from '../failure/index.ts'
import {
  converted,
  described,
  optional,
  type Reader,
  readByType,
  readCount,
  readFields,
  readFlag,
  readList,
  readName,
  readOneOf,
  refuse,
  schemaOf,
  titled,
} from '../validation/index.ts'

/** Starts a new segment after a number of rows. */
export interface DynamicPartitionsSpec {
  readonly type: 'dynamic'
  readonly maxRowsPerSegment: number
  readonly maxTotalRows: number | null
}

/** Partitions rows by the hash of dimensions, with a given number of shards or as many as the rows require. */
export interface HashedPartitionsSpec {
  readonly type: 'hashed'
  readonly numShards: number | null
  /** Empty means all dimensions. */
  readonly partitionDimensions: readonly string[]
  readonly partitionFunction: 'murmur3_32_abs'
  /** Null if numShards is set. */
  readonly maxRowsPerSegment: number | null
}

/** Sorts rows by dimensions and splits them between two values. */
export interface RangePartitionsSpec {
  readonly type: 'range'
  /** Exactly one of these two limits is set. */
  readonly targetRowsPerSegment: number | null
  readonly maxRowsPerSegment: number | null
  readonly partitionDimensions: readonly string[]
  readonly assumeGrouped: boolean
}

/** How the rows of one interval are distributed over segments. */
export type PartitionsSpec = DynamicPartitionsSpec | HashedPartitionsSpec | RangePartitionsSpec

/** Default number of rows per segment. */
const defaultRowsPerSegment = 5_000_000
const maxRows = 2_147_483_647
// Greater than the maximum 64-bit integer by 1. In JSON, the two are the same number.
const maxTotalRows = 2 ** 63

// Druid 37 writes -1 for absent values.
const orNone = (read: Reader<number>): Reader<number | null> =>
  described({ ...schemaOf(optional(read)), minimum: -1 }, (json, field) =>
    json === -1 ? null : optional(read)(json, field),
  )
const rowCount = orNone(readCount(1, maxRows))
const names = (min: 0 | 1) => readList(readName(), { min, max: 1000 })
const type = <const Type extends string>(name: Type) => readOneOf([name])

function assertOneGiven(values: Readonly<Record<string, unknown>>, owner: string): void {
  const given = Object.keys(values).filter((name) => values[name] !== null)
  if (given.length > 1) {
    throw invalidInput(`[${owner}] contains [${given.join(', ')}]: expected only one of these fields`, {
      field: `${owner}.${given[1]}`,
    })
  }
}

const dynamicFields = readFields({
  type: type('dynamic'),
  maxRowsPerSegment: rowCount,
  maxTotalRows: orNone(readCount(1, maxTotalRows)),
})
const readDynamic: Reader<DynamicPartitionsSpec> = converted(dynamicFields, (spec) => ({
  ...spec,
  maxRowsPerSegment: spec.maxRowsPerSegment ?? defaultRowsPerSegment,
}))

const hashedFields = readFields({
  type: type('hashed'),
  numShards: orNone(readCount(1, 100_000)),
  partitionDimensions: optional(names(0), []),
  partitionFunction: optional(readOneOf(['murmur3_32_abs']), 'murmur3_32_abs' as const),
  maxRowsPerSegment: rowCount,
  targetRowsPerSegment: rowCount,
})
const readHashed: Reader<HashedPartitionsSpec> = converted(hashedFields, (read, field) => {
  const { targetRowsPerSegment, ...spec } = read
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
const readRange: Reader<RangePartitionsSpec> = converted(rangeFields, (spec, field) => {
  const { targetRowsPerSegment, maxRowsPerSegment } = spec
  assertOneGiven({ targetRowsPerSegment, maxRowsPerSegment }, field)
  if (targetRowsPerSegment === null && maxRowsPerSegment === null) {
    throw refuse(
      `${field}.targetRowsPerSegment`,
      undefined,
      'an integer of at least 1, unless [maxRowsPerSegment] is set',
    )
  }
  return spec
})

/** Reads a partitionsSpec that must be dynamic, and fills in its defaults. */
export const readDynamicPartitions: Reader<DynamicPartitionsSpec> = readByType<DynamicPartitionsSpec>({
  dynamic: readDynamic,
})

/** Reads a partitionsSpec and fills in its defaults. */
export const readPartitionsSpec: Reader<PartitionsSpec> = titled(
  'PartitionsSpec',
  readByType<PartitionsSpec>({
    dynamic: readDynamic,
    hashed: readHashed,
    range: readRange,
  }),
)
