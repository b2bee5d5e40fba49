import {
  omittable,
  type Reader,
  type Readers,
  readCount,
  readDatasourceName,
  readFields,
  readFlag,
  readList,
  readName,
  readNumber,
  readSizeBytes,
  titled,
} from '../validation/index.ts'

/** What changes to retention rules may do. A limit that is undefined does not apply. */
export interface RulesPolicy {
  /** Maximum bytes of a datasource that a change marks as unused. */
  readonly maxUnusedBytes?: number | undefined
  /** Maximum percentage of the used bytes of a datasource that a change marks as unused. */
  readonly maxUnusedPercent?: number | undefined
  /** Maximum bytes of all datasources that a change marks as unused. */
  readonly maxTotalUnusedBytes?: number | undefined
  /** Maximum percentage of all used bytes that a change marks as unused. */
  readonly maxTotalUnusedPercent?: number | undefined
  /** Datasources in which a change must not mark anything as unused, and whose data must stay queryable. */
  readonly protectedDatasources: readonly string[]
  /** Tiers from which a change must not drop anything. */
  readonly protectedTiers: readonly string[]
  /** Whether rules that load by period must include the future. */
  readonly requireIncludeFuture: boolean
  /** Minimum number of replicas, in all tiers together, of a rule that loads. */
  readonly minReplicas?: number | undefined
}

const readPercent = readNumber(0, 100)
const readDatasources = readList(readDatasourceName, { item: 'name' })
const readTiers = readList(readName(), { item: 'name' })

const policyReaders: Readers<RulesPolicy> = {
  maxUnusedBytes: omittable(readSizeBytes),
  maxUnusedPercent: omittable(readPercent),
  maxTotalUnusedBytes: omittable(readSizeBytes),
  maxTotalUnusedPercent: omittable(readPercent),
  protectedDatasources: omittable(readDatasources, []),
  protectedTiers: omittable(readTiers, []),
  requireIncludeFuture: omittable(readFlag, false),
  minReplicas: omittable(readCount(1, 1000)),
}

/** Reads a policy. Throws invalidInput for the first invalid field. */
export const readRulesPolicy: Reader<RulesPolicy> = titled(
  'RulesPolicy',
  readFields(policyReaders, { expected: 'an object with policy limits' }),
)
