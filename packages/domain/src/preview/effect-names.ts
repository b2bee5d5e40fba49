/** What a rule change does to segments. A segment may count for several effects. */
export const effectNames = [
  /** Visible segments without any replica afterward, used or not. */
  'unqueryable',
  /** Visible segments that a drop rule marks as unused. */
  'unused',
  /** Segments that are marked as unused because newer versions cover their intervals. */
  'overshadowed',
  /** Segments that can be queried with fewer replicas than their rule requires. Copies are those that are missing. */
  'underReplicated',
  /** Replicas that no server has space for. */
  'doesNotFit',
  /** Replicas that wait for servers: a rule requires them in tiers without servers. */
  'waitingForTier',
  /** Replicas that are dropped from one tier and loaded in another. */
  'moved',
  /** Other replicas that historicals load. */
  'loaded',
  /** Other replicas that historicals drop. */
  'dropped',
] as const

export type EffectName = (typeof effectNames)[number]

/** Effects on segments instead of replicas: their bytes are those of the segments. */
export const effectsOnSegments: ReadonlySet<EffectName> = new Set(['unqueryable', 'unused', 'overshadowed'])

/** Max number of tiers in the answer about an effect. */
export const maxTiersListed = 20

/** The effects that take something away from users. */
export const lossNames = [
  'unqueryable',
  'unused',
  'underReplicated',
  'doesNotFit',
  'waitingForTier',
] as const satisfies readonly EffectName[]

export type LossName = (typeof lossNames)[number]
