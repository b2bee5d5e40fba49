import { clusterConfigSchema, compactionConfigSchema } from '@svc/domain/compaction-config'
import { z } from 'zod'
import { shapeOf } from '../wire/index.ts'
import { auditInfoShape } from './segments.ts'

/** What is configured for the compaction of a datasource. */
export const compactionConfigShape = shapeOf(compactionConfigSchema())
/** What is configured for the compaction of all datasources. */
export const clusterCompactionConfigShape = shapeOf(clusterConfigSchema())

const figures = { interval: z.string(), bytes: z.int(), segments: z.int() }

/** How far the compaction of a datasource is. */
export const compactionStatusShape = z
  .object({
    dataSource: z.string(),
    scheduleStatus: z.enum(['RUNNING', 'NOT_ENABLED']),
    message: z.string().nullish(),
    bytesAwaitingCompaction: z.int(),
    bytesCompacted: z.int(),
    bytesSkipped: z.int(),
    segmentCountAwaitingCompaction: z.int(),
    segmentCountCompacted: z.int(),
    segmentCountSkipped: z.int(),
    intervalCountAwaitingCompaction: z.int(),
    intervalCountCompacted: z.int(),
    intervalCountSkipped: z.int(),
    intervals: z
      .object({
        awaiting: z.array(
          z.object({
            ...figures,
            compactionInterval: z.string(),
            mode: z.string().nullable(),
            slots: z.int(),
            reason: z.string(),
          }),
        ),
        skipped: z.array(z.object({ ...figures, code: z.string().nullable(), reason: z.string() })),
        compacted: z.array(z.object(figures)),
      })
      .optional(),
  })
  .meta({ title: 'CompactionStatus', description: 'Intervals are told where full is asked for' })

/** What held for the compaction of a datasource after a change. */
export const compactionHistoryShape = z.array(
  z
    .object({
      globalConfig: z.looseObject({}),
      compactionConfig: z.looseObject({}).nullable(),
      auditInfo: auditInfoShape,
      auditTime: z.string(),
    })
    .meta({ title: 'CompactionHistoryEntry' }),
)

const content = z.object({ bytes: z.int(), segments: z.int() })

/** What would be compacted. */
export const compactionPreviewShape = z
  .object({
    candidates: z.array(
      z.object({
        dataSource: z.string(),
        interval: z.string(),
        compactionInterval: z.string(),
        segments: z.array(z.string()),
        bytes: z.int(),
        eligible: z.boolean(),
        mode: z.string().nullable(),
        slots: z.int(),
        reason: z.string(),
      }),
    ),
    stats: z.record(z.string(), z.object({ compacted: content, skipped: content, awaiting: content })),
    skipped: z.array(
      z.object({ dataSource: z.string(), interval: z.string(), code: z.string(), reason: z.string() }),
    ),
  })
  .meta({ title: 'CompactionPreview' })
