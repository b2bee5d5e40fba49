import { periodOf, readPeriod } from '../time/index.ts'
import {
  checked,
  described,
  type JsonObject,
  kept,
  optional,
  type Reader,
  readAnyObject,
  readByType,
  readFields,
  readFlag,
  readInteger,
  readOneOf,
  readSizeBytes,
  readText,
  titled,
} from '../validation/index.ts'

const maxInt = 2_147_483_647
const maxLong = Number.MAX_SAFE_INTEGER
const count = (min: number) => optional(readInteger(min, maxInt))
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

/**
 * Readers of the fields of a tuningConfig that ingestion and compaction have in common. The fields are checked as in
 * Druid 37. Only maxNumConcurrentSubTasks has an effect in svc, and only on compaction.
 */
export const tuningFields = {
  maxRowsInMemory: count(-1),
  appendableIndexSpec: optional(readAppendableIndex),
  maxBytesInMemory: optional(readInteger(-1, maxLong)),
  splitHintSpec: optional(readSplitHint),
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
}
