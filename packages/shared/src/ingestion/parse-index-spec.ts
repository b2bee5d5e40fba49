import { tooLarge } from '@svc/domain/failure'
import { maxInlineDataBytes } from '@svc/domain/ingestion'
import { type JsonObject, readListingProblems, refuse, schemaOf } from '@svc/domain/validation'
import type { DimensionSpec, IndexSpec, MetricSpec } from './index-spec.ts'
import { checkHttp, checkLocal, type InputAccess, sourceField } from './input-access.ts'
import { readIndexTask } from './read-index-task.ts'

// Druid's default.
const defaultMaxRowsPerSegment = 5_000_000

const schemaField = 'spec.dataSchema'

/** Throws an invalidInput Failure for a column name that is not unique. As in SQL, names are case-insensitive. */
function checkColumnNames(dimensions: readonly DimensionSpec[], metrics: readonly MetricSpec[]): void {
  const fields = new Map<string, string>()
  const named = [
    ...dimensions.map((one, index) => ({
      name: one.name,
      field: `${schemaField}.dimensionsSpec.dimensions[${index}]`,
    })),
    ...metrics.map((one, index) => ({ name: one.name, field: `${schemaField}.metricsSpec[${index}].name` })),
  ]
  for (const { name, field } of named) {
    const other = fields.get(name.toLowerCase())
    if (other !== undefined)
      throw refuse(field, name, `a name other than the one in [${other}] (names are case-insensitive)`)
    fields.set(name.toLowerCase(), field)
  }
}

/** Returns the JSON schema of an index_parallel task. */
export const indexTaskSchema = (): JsonObject => schemaOf(readIndexTask)

/**
 * Parses a submitted index_parallel task. Throws a Failure: invalidInput that names each invalid field with its value
 * and what is expected, or tooLarge for more than 10 MiB of inline data.
 */
export function parseIndexSpec(json: unknown, access: InputAccess): IndexSpec {
  const { id, groupId, context, spec } = readListingProblems(readIndexTask, json)
  const { dataSchema: schema, ioConfig: io, tuningConfig: tuning } = spec
  const { timestampSpec, granularitySpec } = schema
  const dimensions = (schema.dimensionsSpec?.dimensions ?? []).map(({ name, type }) => ({ name, type }))
  const metrics = schema.metricsSpec.map(({ type, name, fieldName }) => ({
    type,
    name,
    fieldName: fieldName ?? '',
  }))
  checkColumnNames(dimensions, metrics)
  const intervals = granularitySpec?.intervals ?? []
  if (io.dropExisting && intervals.length === 0) {
    throw refuse(
      `${schemaField}.granularitySpec.intervals`,
      undefined,
      'at least one interval when [dropExisting] is [true]',
    )
  }
  const source = io.inputSource
  if (source.type === 'inline' && Buffer.byteLength(source.data) > maxInlineDataBytes) {
    throw tooLarge(
      `The value of [${sourceField}.data] is too large ([${Buffer.byteLength(source.data)}] bytes): expected at most [${maxInlineDataBytes}] bytes`,
      { field: `${sourceField}.data` },
    )
  }
  if (source.type === 'http') checkHttp(source.uris, access.allowedHosts)
  if (source.type === 'local') checkLocal(source, access.allowedRoots)
  return {
    id: id ?? undefined,
    groupId: groupId ?? undefined,
    context,
    dataSource: schema.dataSource,
    timestamp: {
      column: timestampSpec.column,
      format: timestampSpec.format,
      missingValueMs: timestampSpec.missingValue ?? undefined,
    },
    dimensions,
    dimensionExclusions: schema.dimensionsSpec?.dimensionExclusions ?? [],
    metrics,
    segmentGranularity: granularitySpec?.segmentGranularity ?? 'DAY',
    queryGranularity: granularitySpec?.queryGranularity ?? 'NONE',
    rollup: granularitySpec?.rollup ?? true,
    intervals: intervals.length === 0 ? undefined : intervals,
    inputSource: source,
    inputFormat: io.inputFormat,
    appendToExisting: io.appendToExisting,
    dropExisting: io.dropExisting,
    maxRowsPerSegment:
      tuning?.partitionsSpec?.maxRowsPerSegment ?? tuning?.maxRowsPerSegment ?? defaultMaxRowsPerSegment,
    maxParseExceptions: tuning?.maxParseExceptions ?? 0,
    logParseExceptions: tuning?.logParseExceptions ?? false,
  }
}
