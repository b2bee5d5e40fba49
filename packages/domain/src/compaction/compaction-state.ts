import { canonicalJson, canonicalJsonInSteps } from '../json/index.ts'
import { type PartitionsSpec, readGranularity } from '../specs/index.ts'
import { bucketOf, type Granularity, type Interval, sameInterval } from '../time/index.ts'
import { type JsonObject, readAnyObject, showValue } from '../validation/index.ts'
import {
  type CompactionConfig,
  readDimensionsSpec,
  readMetricsSpec,
  readProjections,
  readTransformSpec,
  readTuningConfig,
  type TuningConfig,
} from './config/index.ts'

/** The compaction state of segments, as Druid 37 and the metadata store write it. */
export interface CompactionState {
  readonly partitionsSpec?: unknown
  readonly dimensionsSpec?: unknown
  readonly metricsSpec?: unknown
  readonly transformSpec?: unknown
  readonly indexSpec?: unknown
  readonly granularitySpec?: unknown
  readonly projections?: unknown
}

/** Parses a compaction state. The contents of its fields are not checked until they are compared. */
export function parseCompactionState(json: unknown, field = 'lastCompactionState'): CompactionState {
  return readAnyObject(json, field)
}

/** Result of comparing a state with a configuration. */
export interface StateVerdict {
  /** Describes the first field that differs. Undefined if none differs. */
  readonly mismatch: string | undefined
  /** Index of that field in the order of checks. */
  readonly rank: number
  /** The state has no segmentGranularity, so the intervals of its segments must be aligned to it. */
  readonly mustAlign: boolean
}

// maxTotalRows without a limit. Druid 37 writes the maximum 64-bit integer, which is rounded up here. JSON output has
// all digits.
const noLimit = 2 ** 63
// The maximum number of rows, relative to the target.
const maxRowsPerTarget = 1.5

const defaultIndexSpec: JsonObject = {
  bitmap: { type: 'roaring' },
  dimensionCompression: 'lz4',
  stringDictionaryEncoding: { type: 'utf8' },
  metricCompression: 'lz4',
  longEncoding: 'longs',
  metadataCompression: 'none',
}

/** Returns the partitionsSpec that a configuration requires, or undefined if it accepts any. */
function requiredPartitions(config: CompactionConfig): JsonObject | undefined {
  const { tuningConfig, maxRowsPerSegment } = config
  if (tuningConfig?.partitionsSpec) return effectivePartitions(tuningConfig.partitionsSpec)
  const maxTotalRows = tuningConfig?.maxTotalRows ?? null
  if (maxRowsPerSegment === null && maxTotalRows === null) return undefined
  const { partitionsSpec } = readTuningConfig({ partitionsSpec: { type: 'dynamic', maxRowsPerSegment } }, '')
  return { ...partitionsSpec, maxTotalRows: maxTotalRows ?? noLimit }
}

/** Returns a partitionsSpec in the form that is compared. */
function effectivePartitions(spec: PartitionsSpec): JsonObject {
  if (spec.type === 'dynamic') return { ...spec, maxTotalRows: spec.maxTotalRows ?? noLimit }
  if (spec.type === 'hashed') return { ...spec }
  const { targetRowsPerSegment, maxRowsPerSegment, ...rest } = spec
  const fromTarget = Math.floor((targetRowsPerSegment ?? 0) * maxRowsPerTarget)
  return { ...rest, maxRowsPerSegment: maxRowsPerSegment ?? fromTarget }
}

const effectiveIndexSpec = (spec: JsonObject): JsonObject => ({ ...defaultIndexSpec, ...spec })

interface Check {
  readonly field: string
  /** The required value. Null means that the field is not compared. */
  readonly required: unknown
  /** Returns the value of the state in the same form, or undefined if it cannot be equal. */
  readonly found: (state: CompactionState) => unknown
}

const objectField = (owner: unknown, name: string): unknown =>
  typeof owner === 'object' && owner !== null ? (owner as Record<string, unknown>)[name] : undefined

/** Reads a value of a state. Returns undefined if the value is invalid. */
function tolerant<Value>(value: unknown, read: (json: unknown) => Value): Value | undefined {
  if (value === undefined || value === null) return undefined
  try {
    return read(value)
  } catch {
    return undefined
  }
}

const tuningOf = (json: object): TuningConfig => readTuningConfig(json, '')
const partitionsOf = (state: CompactionState): PartitionsSpec | undefined =>
  tolerant(state.partitionsSpec, (partitionsSpec) => tuningOf({ partitionsSpec }).partitionsSpec) ?? undefined
const granularityOf = (state: CompactionState, name: string): Granularity | undefined =>
  tolerant(objectField(state.granularitySpec, name), (json) => readGranularity(json, name))

/** Omits partition dimensions, which come first in segments, wherever the configuration lists them. */
function otherDimensions(
  dimensions: readonly { readonly name: string }[],
  partitions: PartitionsSpec | null | undefined,
): readonly unknown[] {
  if (partitions?.type !== 'range') return dimensions
  return dimensions.filter(({ name }) => !partitions.partitionDimensions.includes(name))
}

function checksOf(config: CompactionConfig): Check[] {
  const { tuningConfig, granularitySpec, dimensionsSpec, metricsSpec, transformSpec, projections } = config
  const dimensions = dimensionsSpec?.dimensions ?? []
  return [
    {
      field: 'partitionsSpec',
      required: requiredPartitions(config) ?? null,
      found: (state) => {
        const spec = partitionsOf(state)
        return spec && effectivePartitions(spec)
      },
    },
    {
      field: 'indexSpec',
      required: effectiveIndexSpec(tuningConfig?.indexSpec ?? {}),
      found: (state) =>
        tolerant(state.indexSpec, (indexSpec) => effectiveIndexSpec(tuningOf({ indexSpec }).indexSpec ?? {})),
    },
    {
      field: 'segmentGranularity',
      required: granularitySpec?.segmentGranularity ?? null,
      found: (state) => granularityOf(state, 'segmentGranularity'),
    },
    {
      field: 'queryGranularity',
      required: granularitySpec?.queryGranularity ?? null,
      found: (state) => granularityOf(state, 'queryGranularity'),
    },
    {
      field: 'rollup',
      required: granularitySpec?.rollup ?? null,
      found: (state) => objectField(state.granularitySpec, 'rollup'),
    },
    {
      field: 'dimensionsSpec',
      required: dimensions.length === 0 ? null : otherDimensions(dimensions, tuningConfig?.partitionsSpec),
      found: (state) =>
        tolerant(objectField(state.dimensionsSpec, 'dimensions'), (json) =>
          otherDimensions(readDimensionsSpec({ dimensions: json }, '').dimensions ?? [], partitionsOf(state)),
        ),
    },
    {
      field: 'metricsSpec',
      required: metricsSpec === null || metricsSpec.length === 0 ? null : metricsSpec,
      found: (state) => tolerant(state.metricsSpec, (json) => readMetricsSpec(json, '')),
    },
    {
      field: 'transformSpec',
      required: transformSpec?.filter ?? null,
      found: (state) =>
        tolerant(
          objectField(state.transformSpec, 'filter'),
          (filter) => readTransformSpec({ filter }, '').filter,
        ),
    },
    {
      field: 'projections',
      required: projections,
      found: (state) => tolerant(state.projections, (json) => readProjections(json, '')),
    },
  ]
}

/** Returns the value as a string that does not depend on the order of keys or on null fields. */
export const canonicalText = (value: unknown): string => canonicalJson(value, { withoutNulls: true })

/**
 * Returns the same as `canonicalText`. Pauses regularly, because a filter in a configuration can be several megabytes
 * long.
 */
export const canonicalTextInSteps = (value: unknown): Generator<undefined, string> =>
  canonicalJsonInSteps(value, { withoutNulls: true })

/** Returns a function that compares states with the configuration. Equal states share one verdict. Pauses regularly. */
export function* compareWith(
  config: CompactionConfig,
): Generator<undefined, (state: CompactionState) => StateVerdict> {
  const checks: (Check & { readonly rank: number; readonly requiredText: string })[] = []
  for (const [rank, check] of checksOf(config).entries()) {
    if (check.required === null) continue
    checks.push({ ...check, rank, requiredText: yield* canonicalTextInSteps(check.required) })
  }
  const byObject = new Map<CompactionState, StateVerdict>()
  const byText = new Map<string, StateVerdict>()
  const judge = (state: CompactionState): StateVerdict => {
    let mustAlign = false
    for (const { field, rank, required, requiredText, found } of checks) {
      const value = found(state)
      if (field === 'segmentGranularity' && value === undefined && isUnknown(state)) mustAlign = true
      else if (value === undefined || canonicalText(value) !== requiredText) {
        const present = value === undefined ? 'unknown' : showValue(value)
        return {
          mismatch: `${field} is [${present}], not [${showValue(required)}] as configured`,
          rank,
          mustAlign,
        }
      }
    }
    return { mismatch: undefined, rank: checks.length, mustAlign }
  }
  const verdictOf = (state: CompactionState): StateVerdict => {
    const known = byObject.get(state)
    if (known !== undefined) return known
    const text = canonicalText(state)
    const verdict = byText.get(text) ?? judge(state)
    byText.set(text, verdict)
    byObject.set(state, verdict)
    return verdict
  }
  // Segments are compared group by group, and the segments of one group usually share their state.
  let last: { readonly state: CompactionState; readonly verdict: StateVerdict } | undefined
  return (state) => {
    if (last?.state !== state) last = { state, verdict: verdictOf(state) }
    return last.verdict
  }
}

const isUnknown = (state: CompactionState): boolean =>
  (objectField(state.granularitySpec, 'segmentGranularity') ?? null) === null

/** Returns whether the interval is exactly one bucket. */
export function isAligned(interval: Interval, granularity: Granularity): boolean {
  if (!Number.isFinite(interval.start)) return granularity === 'ALL' && interval.end === Infinity
  return sameInterval(bucketOf(granularity, interval.start), interval)
}

/**
 * Returns the state of segments after compaction with a configuration. It matches the same configuration. Dimensions
 * and metrics that are not configured come from `present`.
 */
export function stateAfter(
  config: CompactionConfig,
  present: Pick<CompactionState, 'dimensionsSpec' | 'metricsSpec'> = {},
): Required<CompactionState> {
  const { tuningConfig, granularitySpec, dimensionsSpec, metricsSpec, transformSpec, projections } = config
  const dynamic = { type: 'dynamic', maxRowsPerSegment: 5_000_000, maxTotalRows: noLimit }
  return {
    partitionsSpec: requiredPartitions(config) ?? dynamic,
    dimensionsSpec: dimensionsSpec?.dimensions?.length ? dimensionsSpec : (present.dimensionsSpec ?? null),
    metricsSpec: metricsSpec?.length ? metricsSpec : (present.metricsSpec ?? null),
    transformSpec: transformSpec?.filter ? transformSpec : null,
    indexSpec: effectiveIndexSpec(tuningConfig?.indexSpec ?? {}),
    granularitySpec: granularitySpec && {
      type: 'uniform',
      segmentGranularity: granularitySpec.segmentGranularity,
      queryGranularity: granularitySpec.queryGranularity,
      rollup: granularitySpec.rollup,
    },
    projections,
  }
}
