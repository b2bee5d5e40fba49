import type { EffectName, LossName } from './effect-names.ts'
import type { Tally } from './segments.ts'
import type { CopyTally, TierChange } from './tallies.ts'

/** The segments with one effect, in an answer. */
export interface AnsweredEffect extends Tally {
  /** Not given for effects on segments instead of replicas. */
  readonly copies?: number
  readonly days: number | null
  readonly interval: string | null
}

/** The effects of a preview, in an answer. */
export type AnsweredEffects = Readonly<Record<EffectName, AnsweredEffect>> & {
  readonly unqueryable: { readonly queryableBefore: number }
  readonly waitingForTier: { readonly tiers: readonly string[] }
}

/** The largest loss at one time within a horizon, in an answer. */
export interface AnsweredLaterLoss extends Tally {
  /** When more is affected than at the time of the preview, accurate to the hour. */
  readonly from: string
  /** Not given for losses of segments instead of replicas. */
  readonly copies?: number
  /** Of segments, the largest number of those at one time that are not affected at the time of the preview. Earlier versions do not return it. */
  readonly added?: Tally
  /** Of replicas that do not fit or wait for a tier. */
  readonly tiers?: readonly string[]
}

/** The losses that grow within a horizon, in an answer. */
export type AnsweredLaterLosses = Readonly<Partial<Record<LossName, AnsweredLaterLoss>>>

/** Bytes over time in buckets of equal width, in an answer. */
export interface AnsweredBuckets {
  readonly start: string
  readonly widthMs: number
  readonly count: number
  /** From the start of the first segment to the end of the last one. Earlier versions do not return it. */
  readonly covered?: string
  readonly tiers: Readonly<
    Record<string, { readonly before: readonly number[]; readonly after: readonly number[] }>
  >
  readonly unqueryable: readonly number[]
  readonly unused: readonly number[]
}

/** How a datasource changes, in an answer. */
export interface AnsweredDatasource {
  readonly tiers: Readonly<Record<string, TierChange>>
  readonly markedUnused: Tally
  readonly oldestInterval: string | null
  readonly newestInterval: string | null
}

/** What a tier would load, in an answer. */
export interface AnsweredTier {
  readonly servers: number
  /** Null means no limit. */
  readonly capacityBytes: number | null
  readonly bytesBefore: number
  readonly bytesAfter: number
  readonly doesNotFit: CopyTally
}

/** Changes since the previous step of a horizon, in an answer. */
export interface AnsweredStep {
  readonly now: string
  readonly datasources: Readonly<Record<string, AnsweredDatasource>>
  readonly tiers?: Readonly<Record<string, AnsweredTier>>
}

/** Unused segments that drop rules marked and that the rules keep, in an answer. */
export interface AnsweredRestorable extends Tally {
  /** Whether the preview counts them as used. */
  readonly included: boolean
  /** Segments that kill tasks have deleted. */
  readonly killed: Tally
  /** Segments that requests marked as unused: they stay unused. Earlier versions do not return it. */
  readonly requested?: Tally
}

/** The summary of a preview, in an answer. */
export interface AnsweredSummary {
  readonly effects: AnsweredEffects
  readonly buckets?: AnsweredBuckets
  readonly datasources: Readonly<
    Record<string, AnsweredDatasource & { readonly used: Tally; readonly effects: AnsweredEffects }>
  >
  /** Used segments of the cluster; undefined if the user may not read them. */
  readonly used?: Tally
  /** With the first time at which replicas do not fit; null if they always do. */
  readonly tiers?: Readonly<Record<string, AnsweredTier & { readonly doesNotFitFrom: string | null }>>
  readonly steps?: readonly AnsweredStep[]
  /** Undefined without a horizon. Earlier versions do not return it. */
  readonly laterLosses?: AnsweredLaterLosses
  readonly restorable?: AnsweredRestorable
}
