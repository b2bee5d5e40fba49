import {
  checkedGranularitySpec,
  type GranularitySpec,
  granularityFields,
  type PartitionsSpec,
  readGranularity,
  readPartitionsSpec,
} from '../../specs/index.ts'
import { periodOf, readPeriod } from '../../time/index.ts'
import {
  checked,
  converted,
  described,
  type JsonObject,
  optional,
  type Reader,
  readAnyObject,
  readByType,
  readFields,
  readFlag,
  readInteger,
  readList,
  readName,
  readOneOf,
  readSizeBytes,
  readText,
  titled,
  withoutNulls,
} from '../../validation/index.ts'
import { type RowFilter, readFilter } from './filter.ts'

/**
 * How segments are built. Settings are checked and stored as in Druid 37, but only partitionsSpec, maxTotalRows, and
 * maxNumConcurrentSubTasks have an effect in svc.
 */
export interface TuningConfig {
  readonly maxRowsInMemory: number | null
  readonly appendableIndexSpec: JsonObject | null
  readonly maxBytesInMemory: number | null
  readonly maxTotalRows: number | null
  readonly splitHintSpec: JsonObject | null
  readonly partitionsSpec: PartitionsSpec | null
  readonly indexSpec: JsonObject | null
  readonly indexSpecForIntermediatePersists: JsonObject | null
  readonly maxPendingPersists: number | null
  readonly pushTimeout: number | null
  readonly segmentWriteOutMediumFactory: JsonObject | null
  readonly maxNumConcurrentSubTasks: number | null
  readonly maxRetry: number | null
  readonly taskStatusCheckPeriodMs: number | null
  readonly chatHandlerTimeout: string | null
  readonly chatHandlerNumRetries: number | null
  readonly maxNumSegmentsToMerge: number | null
  readonly totalNumMergeTasks: number | null
  readonly maxColumnsToMerge: number | null
  readonly type: 'index_parallel'
  /** True unless partitions are dynamic: rows that roll up together are then in the same segment. */
  readonly forceGuaranteedRollup: boolean
}

/** Which rows to keep. */
export interface TransformSpec {
  readonly filter: RowFilter | null
}

/** What happens to data that the rewritten rows do not cover. */
export interface IoConfig {
  readonly dropExisting: boolean | null
}

const maxInt = 2_147_483_647
const maxLong = Number.MAX_SAFE_INTEGER
const count = (min: number) => optional(readInteger(min, maxInt))
// Omits absent fields, so that the output is the same as the input.
const kept = (read: Reader<object>): Reader<JsonObject> =>
  converted(read, (value) => withoutNulls(value) as JsonObject)
const typeOf = <const Type extends string>(name: Type) => readOneOf([name])

const compression = optional(readOneOf(['lz4', 'lzf', 'zstd', 'uncompressed', 'none']))
const frontCodedBuckets: Reader<number> = checked(
  readInteger(1, 128),
  (size) => Number.isInteger(Math.log2(size)),
  'a power of two from 1 to 128',
)
const readDictionary = readByType<JsonObject>({
  utf8: kept(readFields({ type: typeOf('utf8') })),
  frontCoded: kept(
    readFields({
      type: typeOf('frontCoded'),
      bucketSize: optional(frontCodedBuckets),
      formatVersion: optional(readInteger(0, 1)),
    }),
  ),
})
const readBitmap = readByType<JsonObject>({
  roaring: kept(readFields({ type: typeOf('roaring'), compressRunOnSerialization: optional(readFlag) })),
  concise: kept(readFields({ type: typeOf('concise') })),
})
const readIndexSpec = titled(
  'IndexSpec',
  kept(
    readFields({
      bitmap: optional(readBitmap),
      dimensionCompression: compression,
      stringDictionaryEncoding: optional(readDictionary),
      metricCompression: compression,
      longEncoding: optional(readOneOf(['longs', 'auto'])),
      metadataCompression: compression,
      complexMetricCompression: compression,
      jsonCompression: compression,
      autoColumnFormatSpec: optional(readAnyObject),
    }),
  ),
)

const readSplitHint = readByType<JsonObject>({
  maxSize: kept(
    readFields({
      type: typeOf('maxSize'),
      maxSplitSize: optional(readSizeBytes),
      maxNumFiles: count(1),
    }),
  ),
  segments: kept(
    readFields({
      type: typeOf('segments'),
      maxInputSegmentBytesPerTask: optional(readSizeBytes),
      maxNumSegments: count(1),
    }),
  ),
})
const readAppendableIndex = readByType<JsonObject>({
  onheap: kept(
    readFields({
      type: typeOf('onheap'),
      preserveExistingMetrics: optional(readFlag),
      useMaxMemoryEstimates: optional(readFlag),
    }),
  ),
})
const readWriteOutMedium = readByType<JsonObject>(
  Object.fromEntries(
    ['tmpFile', 'offHeapMemory', 'onHeapMemory'].map((name) => [
      name,
      kept(readFields({ type: typeOf(name) })),
    ]),
  ),
)
const readPeriodText: Reader<string> = described(
  readPeriod,
  checked(readText, (text) => periodOf(text) !== undefined, 'an ISO 8601 period such as [PT10S]'),
)

const tuningFields = titled(
  'TuningConfig',
  readFields({
    maxRowsInMemory: count(-1),
    appendableIndexSpec: optional(readAppendableIndex),
    maxBytesInMemory: optional(readInteger(-1, maxLong)),
    maxTotalRows: optional(readInteger(1, 2 ** 63)),
    splitHintSpec: optional(readSplitHint),
    partitionsSpec: optional(readPartitionsSpec),
    indexSpec: optional(readIndexSpec),
    indexSpecForIntermediatePersists: optional(readIndexSpec),
    maxPendingPersists: count(0),
    pushTimeout: optional(readInteger(0, maxLong)),
    segmentWriteOutMediumFactory: optional(readWriteOutMedium),
    maxNumConcurrentSubTasks: count(1),
    maxRetry: count(0),
    taskStatusCheckPeriodMs: optional(readInteger(0, maxLong)),
    chatHandlerTimeout: optional(readPeriodText),
    chatHandlerNumRetries: count(0),
    maxNumSegmentsToMerge: count(2),
    totalNumMergeTasks: count(1),
    maxColumnsToMerge: count(-1),
    type: optional(typeOf('index_parallel'), 'index_parallel' as const),
    forceGuaranteedRollup: optional(readFlag),
  }),
)

/** Reads a tuningConfig. Absent fields are null. */
export const readTuningConfig: Reader<TuningConfig> = converted(tuningFields, (tuning) => {
  const { partitionsSpec } = tuning
  return { ...tuning, forceGuaranteedRollup: partitionsSpec !== null && partitionsSpec.type !== 'dynamic' }
})

/** Reads a granularitySpec. */
export const readGranularitySpec: Reader<GranularitySpec> = checkedGranularitySpec(
  readFields(granularityFields(readGranularity)),
)

/** Reads a transformSpec. */
export const readTransformSpec: Reader<TransformSpec> = readFields({ filter: optional(readFilter) })

/** Reads an ioConfig. */
export const readIoConfig: Reader<IoConfig> = readFields({ dropExisting: optional(readFlag) })

const projectionColumn = readName()

/**
 * Reads projections and checks only their structure. They are part of the compaction state that is compared, but
 * segment files contain no projections.
 */
export const readProjections: Reader<readonly JsonObject[]> = readList(
  kept(
    readFields({
      type: optional(typeOf('aggregate')),
      name: projectionColumn,
      filter: optional(readFilter),
      virtualColumns: optional(readList(readAnyObject)),
      groupingColumns: optional(
        readList(
          described({ type: ['string', 'object'], additionalProperties: true }, (json, field) =>
            typeof json === 'string' ? projectionColumn(json, field) : readAnyObject(json, field),
          ),
        ),
      ),
      aggregators: optional(readList(readAnyObject)),
      ordering: optional(readList(readAnyObject)),
    }),
  ),
  { max: 1000 },
)
