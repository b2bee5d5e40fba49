import {
  type CompactionConfig,
  compactTaskType,
  parseCompactionConfig,
  readCompactionConfig,
} from '@svc/domain/compaction'
import { bucketOf, type Granularity, type Interval, readInterval } from '@svc/domain/time'
import {
  described,
  isJsonObject,
  type JsonObject,
  optional,
  type Reader,
  readAnyObject,
  readByType,
  readDatasourceName,
  readFields,
  readFlag,
  readList,
  readName,
  readOneOf,
  readShortText,
  schemaOf,
} from '@svc/domain/validation'

/** A validated compact task. */
export interface CompactSpec {
  readonly id: string | undefined
  readonly groupId: string | undefined
  readonly context: JsonObject
  readonly dataSource: string
  /** The interval that the task locks and replaces: complete buckets of the granularity that it writes. */
  readonly interval: Interval
  /** IDs of the segments to rewrite; others in the interval stay unchanged. Undefined means all segments. */
  readonly segmentIds: readonly string[] | undefined
  /** Number of task slots that the task takes, and so the threads that it may use. */
  readonly slots: number
  /** The compaction config that the new segments follow. */
  readonly config: CompactionConfig
}

// A datasource, two times, a version, and a number, each much shorter than this.
const segmentId = readShortText(2048, 'a segment ID')
const fullInterval = readFields({ type: readOneOf(['interval']), interval: readInterval })
const readInput = readByType<{ readonly interval: Interval; readonly segments: readonly string[] | null }>({
  interval: described(fullInterval, (json, field) => ({ ...fullInterval(json, field), segments: null })),
  uncompacted: readFields({
    type: readOneOf(['uncompacted']),
    interval: readInterval,
    segments: readList(segmentId, { min: 1, max: 1_000_000 }),
  }),
})

const readTask = readFields({
  type: readOneOf([compactTaskType]),
  id: optional(readName()),
  groupId: optional(readName()),
  dataSource: readDatasourceName,
  ioConfig: readFields({
    type: optional(readOneOf([compactTaskType])),
    inputSpec: readInput,
    dropExisting: optional(readFlag),
  }),
  context: optional(readAnyObject, {}),
  // These are parsed like the fields of a compaction config.
  tuningConfig: asInConfiguration('tuningConfig'),
  granularitySpec: asInConfiguration('granularitySpec'),
  dimensionsSpec: asInConfiguration('dimensionsSpec'),
  metricsSpec: asInConfiguration('metricsSpec'),
  transformSpec: asInConfiguration('transformSpec'),
  projections: asInConfiguration('projections'),
})

function asInConfiguration(name: string): Reader<unknown> {
  const fields = () => schemaOf(readCompactionConfig).properties as Readonly<Record<string, JsonObject>>
  return Object.assign((json: unknown) => json, { schema: () => fields()[name] ?? {} })
}

/** Returns the JSON schema of a compact task. */
export const compactTaskSchema = (): JsonObject => ({ title: 'CompactTask', ...schemaOf(readTask) })

/** Parses a compact task from a JSON body. Throws an invalidInput Failure that names the first invalid field. */
export function parseCompactSpec(json: unknown): CompactSpec {
  const { id, groupId, context, dataSource, ioConfig, type: _, ...specs } = readTask(json, '')
  const { dropExisting, inputSpec } = ioConfig
  const config = parseCompactionConfig({
    dataSource,
    ...specs,
    ioConfig: dropExisting === null ? null : { dropExisting },
  })
  return {
    id: id ?? undefined,
    groupId: groupId ?? undefined,
    context,
    dataSource,
    interval: fullBuckets(inputSpec.interval, config.granularitySpec?.segmentGranularity ?? undefined),
    segmentIds: inputSpec.segments ?? undefined,
    slots: slotsOf(context),
    config,
  }
}

function slotsOf({ compaction }: JsonObject): number {
  const slots = isJsonObject(compaction) ? compaction.slots : undefined
  return typeof slots === 'number' && Number.isInteger(slots) && slots > 0 ? slots : 1
}

function fullBuckets({ start, end }: Interval, granularity: Granularity | undefined): Interval {
  if (granularity === undefined) return { start, end }
  if (granularity === 'ALL') return bucketOf('ALL', 0)
  return {
    start: Number.isFinite(start) ? bucketOf(granularity, start).start : start,
    end: Number.isFinite(end) ? bucketOf(granularity, end - 1).end : end,
  }
}
