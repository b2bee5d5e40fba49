import type { EffectName, LossName } from '@svc/domain/preview'
import { ruleTypes } from '@svc/domain/rules'
import * as z from 'zod'

const ruleReferenceShape = z
  .object({ index: z.int(), type: z.enum(ruleTypes), source: z.enum(['datasource', 'default']) })
  .meta({
    title: 'RuleReference',
    description: 'A rule, identified by its source and its zero-based index among the rules from that source',
  })

const segmentShape = z
  .object({
    dataSource: z.string(),
    interval: z.string(),
    version: z.string(),
    partitionNum: z.int(),
    overshadowed: z.boolean(),
    rule: ruleReferenceShape.nullable(),
    action: z.enum(['load', 'drop', 'broadcast']),
    loaded: z.record(z.string(), z.int()),
    brokers: z.int(),
  })
  .meta({
    title: 'PreviewedSegment',
    description: 'The `loaded` field contains the number of replicas by tier',
  })

const tallyShape = z.object({ segments: z.int(), bytes: z.int() })
const usedShape = tallyShape.describe('Used segments before the change, excluding overshadowed segments')
const copiesShape = z.object({ copies: z.int(), segments: z.int(), bytes: z.int() })
const tierChangeShape = z
  .object({ before: copiesShape, after: copiesShape, loaded: copiesShape, dropped: copiesShape })
  .meta({ title: 'PreviewedTierChange' })

const extent = {
  segments: z.int(),
  bytes: z.int(),
  days: z
    .int()
    .nullable()
    .describe('Number of UTC days that contain affected segments; null if an interval is unbounded'),
  interval: z
    .string()
    .nullable()
    .describe(
      'Interval from the start of the first segment to the end of the last segment; null if there are no segments',
    ),
}
const affected = (description: string, more: z.ZodRawShape = {}) =>
  z.object({ ...extent, ...more }).describe(description)
const copies = { copies: z.int() }
const effectsShape = z
  .object({
    unqueryable: affected('Segments that have no replica after the change, whether used or unused', {
      queryableBefore: z
        .int()
        .describe('Number of unqueryable segments that have a replica before the change'),
    }),
    unused: affected('Segments that a drop rule marks as unused'),
    overshadowed: affected('Segments that are marked as unused because newer versions overshadow them'),
    underReplicated: affected(
      'Queryable segments with fewer replicas than their rule requires; `copies` is the number of missing replicas',
      copies,
    ),
    doesNotFit: affected('Replicas that no server has space for', copies),
    waitingForTier: affected('Replicas that wait for servers: rules require them in tiers without servers', {
      ...copies,
      tiers: z
        .array(z.string())
        .describe('Tiers that rules refer to but that have no servers; only the first ones are listed'),
    }),
    moved: affected('Replicas that are dropped from one tier and loaded in another', copies),
    loaded: affected('Replicas that historicals load, excluding moved replicas', copies),
    dropped: affected('Replicas that historicals drop, excluding moved replicas', copies),
  } satisfies Record<EffectName, unknown>)
  .meta({ title: 'PreviewedEffects' })

const datasource = {
  tiers: z.record(z.string(), tierChangeShape),
  markedUnused: tallyShape,
  oldestInterval: z.string().nullable(),
  newestInterval: z.string().nullable(),
}
const tier = {
  servers: z.int(),
  capacityBytes: z.int().nullable(),
  bytesBefore: z.int(),
  bytesAfter: z.int(),
  doesNotFit: copiesShape,
}
const doesNotFitFrom = z
  .string()
  .nullable()
  .describe(
    'First time, up to the horizon, at which some replicas do not fit, accurate to the hour; null if all replicas fit',
  )
const bytesShape = z.array(z.int())
const bucketsShape = z
  .object({
    start: z.string(),
    widthMs: z.int(),
    count: z.int(),
    covered: z
      .string()
      .optional()
      .describe('Interval from the start of the first segment to the end of the last segment'),
    tiers: z
      .record(z.string(), z.object({ before: bytesShape, after: bytesShape }))
      .describe('Bytes of all replicas, excluding overshadowed segments'),
    unqueryable: bytesShape.describe('Bytes of segments that have no replica after the change'),
    unused: bytesShape.describe('Bytes of segments that a drop rule marks as unused'),
  })
  .meta({ title: 'PreviewedBuckets', description: 'Bytes in consecutive buckets of equal width' })
const extentShape = {
  segments: z.int(),
  bytes: z.int(),
  interval: z
    .string()
    .nullable()
    .describe('Interval from the start of the first segment to the end of the last segment'),
}
const restorableShape = z
  .object({
    included: z.boolean().describe('Whether the preview counts restorable segments as used'),
    ...extentShape,
    killed: z
      .object(extentShape)
      .describe('Segments that the rules would keep but that kill tasks have already deleted'),
    requested: z
      .object(extentShape)
      .optional()
      .describe(
        'Segments that the rules would keep but that stay unused because requests marked them as unused',
      ),
  })
  .meta({
    title: 'RestorableSegments',
    description: 'Segments that drop rules marked as unused but that the previewed rules would keep',
  })
const durationShape = z
  .int()
  .nullable()
  .describe('Estimated duration in milliseconds; null if a tier has no server with a measured load rate')
const loadTimeShape = z
  .object({
    durationMs: durationShape,
    tiers: z.record(
      z.string(),
      z.object({
        durationMs: durationShape,
        limitedBy: z
          .enum(['servers', 'maxSegmentsInNodeLoadingQueue', 'replicationThrottleLimit'])
          .nullable(),
        curve: z
          .array(z.object({ durationMs: z.int(), loads: z.int() }))
          .describe('Number of loaded replicas over time'),
        loads: z.int(),
        bytes: z.int(),
        servers: z.int(),
        measuredServers: z.int(),
      }),
    ),
    assumptions: z.array(z.string()),
  })
  .meta({
    title: 'PreviewedLoadTime',
    description:
      'Estimate of how long it takes to load all replicas, based on load rates measured in this cluster',
  })
const laterLossShape = z.object({
  from: z
    .string()
    .describe(
      'First time at which more replicas, or other segments, are affected than at `now`, accurate to the hour. A loss that ends before the next step is not found. If a loss begins twice between two steps, this may be the time of the second one',
    ),
  segments: z.int().describe('Largest number of affected segments at one time'),
  copies: z.int().optional().describe('Number of their missing replicas'),
  bytes: z.int(),
  added: z
    .object({ segments: z.int(), bytes: z.int() })
    .optional()
    .describe(
      'Unqueryable or unused segments that are not affected at `now`: their largest number at one time',
    ),
  tiers: z.array(z.string()).optional().describe('Tiers without space, or without servers'),
})
const laterLossesShape = z
  .object({
    unqueryable: laterLossShape,
    unused: laterLossShape,
    underReplicated: laterLossShape,
    doesNotFit: laterLossShape,
    waitingForTier: laterLossShape,
  } satisfies Record<LossName, unknown>)
  .partial()
  .meta({
    title: 'PreviewedLaterLosses',
    description: 'Losses that are larger, or affect other segments, at a step of the horizon than at `now`',
  })
const stepShape = z
  .object({
    now: z.string(),
    datasources: z.record(z.string(), z.object(datasource)),
    tiers: z.record(z.string(), z.object(tier)).optional(),
  })
  .meta({ title: 'PreviewStep' })

/** Shape of the preview of a rule change. */
export const rulesPreviewShape = z
  .object({
    now: z.string(),
    known: z
      .boolean()
      .describe('Whether the leader has a report from every server; there is no preview until it does'),
    reasons: z.array(z.string()).optional().describe('Reasons why `known` is false'),
    segmentsTotal: z.int().optional(),
    segments: z.array(segmentShape).optional(),
    summary: z
      .object({
        effects: effectsShape,
        restorable: restorableShape.optional(),
        loadTime: loadTimeShape.optional(),
        buckets: bucketsShape.optional(),
        datasources: z.record(
          z.string(),
          z
            .object({ used: usedShape, effects: effectsShape, ...datasource })
            .meta({ title: 'PreviewedDatasource' }),
        ),
        used: usedShape.optional(),
        tiers: z
          .record(z.string(), z.object({ ...tier, doesNotFitFrom }).meta({ title: 'PreviewedTier' }))
          .optional(),
        steps: z.array(stepShape).optional(),
        laterLosses: laterLossesShape.optional(),
      })
      .optional(),
    warnings: z.array(z.looseObject({ type: z.string(), message: z.string() })).optional(),
  })
  .meta({ title: 'RulesPreview' })
