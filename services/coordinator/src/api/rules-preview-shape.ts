import { ruleTypes } from '@svc/domain/rules'
import { z } from 'zod'

const ruleReferenceShape = z
  .object({ index: z.int(), type: z.enum(ruleTypes), source: z.enum(['datasource', 'default']) })
  .meta({ title: 'RuleReference', description: 'A rule with its index in its list, starting at 0' })

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
  .meta({ title: 'PreviewedSegment', description: 'The field loaded has the number of replicas by tier' })

const tallyShape = z.object({ segments: z.int(), bytes: z.int() })
const copiesShape = z.object({ copies: z.int(), segments: z.int(), bytes: z.int() })
const tierChangeShape = z
  .object({ before: copiesShape, after: copiesShape, loaded: copiesShape, dropped: copiesShape })
  .meta({ title: 'PreviewedTierChange' })
const datasourcesShape = z.record(
  z.string(),
  z
    .object({
      tiers: z.record(z.string(), tierChangeShape),
      markedUnused: tallyShape,
      oldestInterval: z.string().nullable(),
      newestInterval: z.string().nullable(),
    })
    .meta({ title: 'PreviewedDatasource' }),
)
const tiersShape = z.record(
  z.string(),
  z
    .object({
      servers: z.int(),
      capacityBytes: z.int().nullable(),
      bytesBefore: z.int(),
      bytesAfter: z.int(),
      doesNotFit: copiesShape,
    })
    .meta({ title: 'PreviewedTier' }),
)

/** Shape of the preview of a change of rules. */
export const rulesPreviewShape = z
  .object({
    now: z.string(),
    segmentsTotal: z.int().optional(),
    segments: z.array(segmentShape).optional(),
    summary: z.object({
      datasources: datasourcesShape,
      tiers: tiersShape.optional(),
      steps: z
        .array(z.object({ now: z.string(), datasources: datasourcesShape, tiers: tiersShape.optional() }))
        .optional(),
    }),
    warnings: z.array(z.looseObject({ type: z.string(), message: z.string() })),
  })
  .meta({ title: 'RulesPreview' })
