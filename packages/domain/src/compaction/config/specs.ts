import {
  checkedGranularitySpec,
  type GranularitySpec,
  granularityFields,
  type PartitionsSpec,
  readGranularity,
  readPartitionsSpec,
  tuningFields,
} from '../../specs/index.ts'
import {
  converted,
  described,
  type JsonObject,
  kept,
  optional,
  type Reader,
  readAnyObject,
  readFields,
  readFlag,
  readInteger,
  readList,
  readName,
  readOneOf,
  titled,
  type ValuesOf,
} from '../../validation/index.ts'
import { type RowFilter, readFilter } from './filter.ts'

/**
 * How segments are built. Settings are checked and stored as in Druid 37, but only partitionsSpec, maxTotalRows, and
 * maxNumConcurrentSubTasks have an effect in svc.
 */
export interface TuningConfig extends ValuesOf<typeof tuningFields> {
  readonly maxTotalRows: number | null
  readonly partitionsSpec: PartitionsSpec | null
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

const typeOf = <const Type extends string>(name: Type) => readOneOf([name])

const readFieldsOfTuning = titled(
  'TuningConfig',
  readFields({
    ...tuningFields,
    maxTotalRows: optional(readInteger(1, 2 ** 63)),
    partitionsSpec: optional(readPartitionsSpec),
    type: optional(typeOf('index_parallel'), 'index_parallel' as const),
    forceGuaranteedRollup: optional(readFlag),
  }),
)

/** Reads a tuningConfig. Absent fields are null. */
export const readTuningConfig: Reader<TuningConfig> = converted(readFieldsOfTuning, (tuning) => {
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
