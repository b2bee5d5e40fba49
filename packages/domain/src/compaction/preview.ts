import {
  assertRunnableBy,
  type ClusterCompactionConfig,
  type CompactionConfig,
  clusterConfigSchema,
  compactionConfigSchema,
  parseClusterConfig,
  parseCompactionConfig,
} from '../compaction-config/index.ts'
import { invalidInput } from '../failure/index.ts'
import { segmentId } from '../segment/index.ts'
import { formatInterval, intervalSchema, parseInstant, parseInterval } from '../time/index.ts'
import {
  described,
  isJsonObject,
  type JsonObject,
  optional,
  type Reader,
  readAnyObject,
  readFields,
  readList,
  readName,
  readText,
  readWhole,
  refuse,
  schemaOf,
} from '../validation/index.ts'
import type { CompactionSegment } from './compaction-segment.ts'
import { parseCompactionState } from './compaction-state.ts'
import type { CompactionPlan } from './plan-compaction.ts'

/** What a preview is asked about; what is undefined is taken from the cluster as it is. */
export interface CompactionPreviewRequest {
  readonly cluster: ClusterCompactionConfig | undefined
  readonly configs: readonly CompactionConfig[] | undefined
  readonly segments: readonly CompactionSegment[] | undefined
}

const mostConfigs = 10_000
const mostSegments = 1_000_000

const count = readWhole(0, Number.MAX_SAFE_INTEGER)
const partition = readWhole(0, 2_147_483_647)

const segmentFields = readFields({
  dataSource: readName(),
  interval: described(intervalSchema, (json, field) => {
    const interval = parseInterval(readText(json, field), field)
    if (interval.start === interval.end) throw refuse(field, json, 'an interval that is not empty')
    return interval
  }),
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

const previewFields = {
  clusterConfig: optional(described(clusterConfigSchema(), parseClusterConfig)),
  compactionConfigs: optional(
    readList(described(compactionConfigSchema(), parseCompactionConfig), { most: mostConfigs }),
  ),
  segments: optional(readList(readSegment, { most: mostSegments })),
  now: optional(described(readText, (json, field) => parseInstant(readText(json, field), field))),
}
const readPreview = readFields(previewFields)

/** The JSON schema of what a preview is asked about: its own fields, or those of the cluster configuration alone. */
export const compactionPreviewSchema = (): JsonObject => ({
  title: 'CompactionPreviewRequest',
  anyOf: [schemaOf(readPreview), clusterConfigSchema()],
})

/**
 * What a preview is asked about. Besides the object with its own fields, the cluster configuration alone is taken, as
 * the recorded system has it. Deciding looks at no clock: the data itself says what is latest, so `now` is only checked.
 */
export function parseCompactionPreview(json: unknown): CompactionPreviewRequest {
  const isBare =
    isJsonObject(json) &&
    Object.keys(json).length > 0 &&
    Object.keys(json).every((name) => !Object.hasOwn(previewFields, name))
  const { clusterConfig, compactionConfigs, segments } = readPreview(
    isBare ? { clusterConfig: parseClusterConfig(json) && json } : json,
    '',
  )
  assertEachOnce(compactionConfigs ?? [], ({ dataSource }) => dataSource, 'compactionConfigs')
  assertEachOnce(segments ?? [], ({ id }) => id, 'segments')
  if (clusterConfig !== null) {
    for (const config of compactionConfigs ?? []) assertRunnableBy(config, clusterConfig)
  }
  return {
    cluster: clusterConfig ?? undefined,
    configs: compactionConfigs ?? undefined,
    segments: segments ?? undefined,
  }
}

function assertEachOnce<Item>(items: readonly Item[], keyOf: (item: Item) => string, field: string): void {
  const seen = new Set<string>()
  for (const item of items) {
    const key = keyOf(item)
    if (seen.has(key)) {
      throw invalidInput(`${field} has [${key}] twice; allowed is each of them once`, { field })
    }
    seen.add(key)
  }
}

/** The plan as a preview answers it. */
export function describePlan({ candidates, skipped, progress }: CompactionPlan) {
  return {
    candidates: candidates.map((candidate) => ({
      dataSource: candidate.dataSource,
      interval: formatInterval(candidate.interval),
      compactionInterval: formatInterval(candidate.compactionInterval),
      segments: candidate.segments.map(({ id }) => id).sort(),
      bytes: candidate.figures.bytes,
      eligible: candidate.eligible,
      mode: candidate.mode,
      slots: candidate.slots,
      reason: candidate.reason,
    })),
    stats: Object.fromEntries(
      [...progress].map(([dataSource, { compacted, skipped: left, awaiting }]) => [
        dataSource,
        { compacted, skipped: left, awaiting },
      ]),
    ),
    skipped: skipped.map(({ dataSource, interval, code, reason }) => ({
      dataSource,
      interval: formatInterval(interval),
      code,
      reason,
    })),
  }
}

/** A plan as a preview answers it. */
export type DescribedPlan = ReturnType<typeof describePlan>
