import { invalidInput } from '../failure/index.ts'
import { segmentId } from '../segment/index.ts'
import { finish } from '../steps/index.ts'
import { formatInterval, readInstant, readNonEmptyInterval } from '../time/index.ts'
import {
  described,
  isJsonObject,
  type JsonObject,
  optional,
  type Reader,
  readAnyObject,
  readDatasourceName,
  readFields,
  readInteger,
  readList,
  readName,
  schemaOf,
} from '../validation/index.ts'
import type { CompactionSegment } from './compaction-segment.ts'
import { parseCompactionState } from './compaction-state.ts'
import {
  assertRunnableBy,
  type ClusterCompactionConfig,
  type CompactionConfig,
  parseClusterConfig,
  readClusterConfig,
  readCompactionConfig,
} from './config/index.ts'
import type { CompactionCandidate, CompactionPlan, SkippedInterval } from './plan-compaction.ts'

/** A request for a compaction preview. Undefined fields are taken from the cluster. */
export interface CompactionPreviewRequest {
  readonly cluster: ClusterCompactionConfig | undefined
  readonly configs: readonly CompactionConfig[] | undefined
  readonly segments: readonly CompactionSegment[] | undefined
  /** Number of tasks that all workers together can run at the same time. */
  readonly workerCapacity: number | undefined
}

const maxConfigs = 10_000
const maxSegments = 1_000_000
/** Upper limit for the assumed number of tasks that all workers together can run at the same time. */
export const maxWorkerCapacity = 1_000_000

const count = readInteger(0, Number.MAX_SAFE_INTEGER)
const partition = readInteger(0, 2_147_483_647)

const segmentFields = readFields({
  dataSource: readDatasourceName,
  interval: readNonEmptyInterval,
  version: readName(),
  partitionNum: partition,
  partitions: partition,
  size: count,
  numRows: optional(count),
  lastCompactionState: optional(described(readAnyObject, parseCompactionState)),
})

const readSegment: Reader<CompactionSegment> = described(segmentFields, (json, field) => {
  const { size, numRows, lastCompactionState, ...key } = segmentFields(json, field)
  return {
    ...key,
    id: segmentId(key),
    sizeBytes: size,
    totalRows: numRows ?? undefined,
    lastCompactionState: lastCompactionState ?? undefined,
  }
})

const listOfSegments: Reader<readonly unknown[]> = described(
  readList(readSegment, { max: maxSegments }),
  (json, field) => readList((segment) => segment, { max: maxSegments })(json, field),
)

const previewFields = {
  clusterConfig: optional(readClusterConfig),
  compactionConfigs: optional(readList(readCompactionConfig, { max: maxConfigs })),
  // The segments themselves are read later, in slices.
  segments: optional(listOfSegments),
  workerCapacity: optional(readInteger(0, maxWorkerCapacity)),
  now: optional(readInstant),
}
const readPreview = readFields(previewFields)

/** Returns the JSON schema of a preview request: its own fields, or only a cluster configuration. */
export const compactionPreviewSchema = (): JsonObject => ({
  title: 'CompactionPreviewRequest',
  anyOf: [schemaOf(readPreview), schemaOf(readClusterConfig)],
})

// Number of segments between two pauses.
const sliceLength = 200

/** Like `readCompactionPreview`, but without pauses. */
export const parseCompactionPreview = (json: unknown): CompactionPreviewRequest =>
  finish(readCompactionPreview(json))

/**
 * Reads a preview request. Yields regularly. Like Druid 37, it also accepts only a cluster configuration. The plan
 * depends on the latest data and not on a clock, so `now` is checked but has no effect.
 */
export function* readCompactionPreview(json: unknown): Generator<undefined, CompactionPreviewRequest> {
  const isBare =
    isJsonObject(json) &&
    Object.keys(json).length > 0 &&
    Object.keys(json).every((name) => !Object.hasOwn(previewFields, name))
  const { clusterConfig, compactionConfigs, segments, workerCapacity } = readPreview(
    isBare ? { clusterConfig: parseClusterConfig(json) && json } : json,
    '',
  )
  assertEachOnce(compactionConfigs ?? [], ({ dataSource }) => dataSource, 'compactionConfigs')
  const readSegments = segments === null ? undefined : yield* readEachSegment(segments)
  if (clusterConfig !== null) {
    for (const config of compactionConfigs ?? []) assertRunnableBy(config, clusterConfig)
  }
  return {
    cluster: clusterConfig ?? undefined,
    configs: compactionConfigs ?? undefined,
    segments: readSegments,
    workerCapacity: workerCapacity ?? undefined,
  }
}

function* readEachSegment(segments: readonly unknown[]): Generator<undefined, CompactionSegment[]> {
  const read: CompactionSegment[] = []
  const seen = new Set<string>()
  for (const [index, json] of segments.entries()) {
    if (index % sliceLength === 0) yield
    const segment = readSegment(json, `segments[${index}]`)
    assertNew(seen, segment.id, 'segments')
    read.push(segment)
  }
  return read
}

function assertEachOnce<Item>(items: readonly Item[], keyOf: (item: Item) => string, field: string): void {
  const seen = new Set<string>()
  for (const item of items) assertNew(seen, keyOf(item), field)
}

function assertNew(seen: Set<string>, key: string, field: string): void {
  if (seen.has(key))
    throw invalidInput(`Duplicate entry [${key}] in [${field}]: expected each entry only once`, { field })
  seen.add(key)
}

/** Returns the JSON of an interval that needs compaction. */
export const describeCandidate = (candidate: CompactionCandidate) => ({
  dataSource: candidate.dataSource,
  interval: formatInterval(candidate.interval),
  compactionInterval: formatInterval(candidate.compactionInterval),
  segments: candidate.segments.map(({ id }) => id).sort(),
  bytes: candidate.figures.bytes,
  eligible: candidate.eligible,
  mode: candidate.mode,
  slots: candidate.slots,
  reason: candidate.reason,
})

/** Returns the JSON of a skipped interval. */
export const describeSkipped = ({ dataSource, interval, code, reason }: SkippedInterval) => ({
  dataSource,
  interval: formatInterval(interval),
  code,
  reason,
})

/** Returns the JSON of the progress of datasources. */
export const describeProgress = (progress: CompactionPlan['progress']) =>
  Object.fromEntries(
    [...progress].map(([dataSource, { compacted, skipped, awaiting }]) => [
      dataSource,
      { compacted, skipped, awaiting },
    ]),
  )

/** Returns the JSON of a plan. */
export const describePlan = ({ candidates, skipped, progress }: CompactionPlan) => ({
  candidates: candidates.map(describeCandidate),
  stats: describeProgress(progress),
  skipped: skipped.map(describeSkipped),
})

/** The JSON of a plan. */
export type DescribedPlan = ReturnType<typeof describePlan>
