import {
  type CompactionConfig,
  compactionConfigSchema,
  parseCompactionConfig,
} from '@svc/domain/compaction-config'
import { bucketOf, type Granularity, type Interval, intervalSchema, parseInterval } from '@svc/domain/time'
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
  readText,
  schemaOf,
} from '@svc/domain/validation'

/** A compact task, checked. */
export interface CompactSpec {
  readonly id: string | undefined
  readonly groupId: string | undefined
  readonly context: JsonObject
  readonly dataSource: string
  /** What the task has for itself and replaces: whole buckets of the granularity that it writes. */
  readonly interval: Interval
  /** The segments to rewrite, those of the interval that are not among them stay as they are; undefined: all of it. */
  readonly segmentIds: readonly string[] | undefined
  /** Task slots that the task counts for, and so the threads that it may use. */
  readonly slots: number
  /** How the segments shall be. */
  readonly config: CompactionConfig
}

const interval: Reader<Interval> = described(intervalSchema, (json, field) =>
  parseInterval(readText(json, field), field),
)

const wholeInterval = readFields({ type: readOneOf(['interval']), interval })
const readInput = readByType<{ readonly interval: Interval; readonly segments: readonly string[] | null }>({
  interval: described(wholeInterval, (json, field) => ({ ...wholeInterval(json, field), segments: null })),
  uncompacted: readFields({
    type: readOneOf(['uncompacted']),
    interval,
    segments: readList(readText, { least: 1, most: 1_000_000 }),
  }),
})

const readTask = readFields({
  type: readOneOf(['compact']),
  id: optional(readName()),
  groupId: optional(readName()),
  dataSource: readDatasourceName,
  ioConfig: readFields({
    type: optional(readOneOf(['compact'])),
    inputSpec: readInput,
    dropExisting: optional(readFlag),
  }),
  context: optional(readAnyObject, {}),
  // These are read as the fields of a configuration are.
  tuningConfig: asInConfiguration('tuningConfig'),
  granularitySpec: asInConfiguration('granularitySpec'),
  dimensionsSpec: asInConfiguration('dimensionsSpec'),
  metricsSpec: asInConfiguration('metricsSpec'),
  transformSpec: asInConfiguration('transformSpec'),
  projections: asInConfiguration('projections'),
})

function asInConfiguration(name: string): Reader<unknown> {
  const fields = () => compactionConfigSchema().properties as Readonly<Record<string, JsonObject>>
  return Object.assign((json: unknown) => json, { schema: () => fields()[name] ?? {} })
}

/** The JSON schema of a compact task. */
export const compactTaskSchema = (): JsonObject => ({ title: 'CompactTask', ...schemaOf(readTask) })

/** The compact task of a JSON body; the first thing that is wrong is an invalidInput failure that names it. */
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
    interval: wholeBuckets(inputSpec.interval, config.granularitySpec?.segmentGranularity ?? undefined),
    segmentIds: inputSpec.segments ?? undefined,
    slots: slotsOf(context),
    config,
  }
}

function slotsOf({ compaction }: JsonObject): number {
  const slots = isJsonObject(compaction) ? compaction.slots : undefined
  return typeof slots === 'number' && Number.isInteger(slots) && slots > 0 ? slots : 1
}

function wholeBuckets({ start, end }: Interval, granularity: Granularity | undefined): Interval {
  if (granularity === undefined) return { start, end }
  if (granularity === 'ALL') return bucketOf('ALL', 0)
  return {
    start: Number.isFinite(start) ? bucketOf(granularity, start).start : start,
    end: Number.isFinite(end) ? bucketOf(granularity, end - 1).end : end,
  }
}

/** Whether the body is that of a compact task. */
export const isCompactTask = (json: unknown): boolean => isJsonObject(json) && json.type === 'compact'
