import { readClusterConfig, readCompactionConfig } from '@svc/domain/compaction'
import { type JsonObject, type Reader, schemaOf } from '@svc/domain/validation'
import * as z from 'zod'
import { shapeOf } from '../http/index.ts'
import { auditInfoShape } from '../shapes/index.ts'

/** Makes all fields required except `optional` ones: responses contain fields that a request may omit. */
function withAllFields(read: Reader<unknown>, ...optional: readonly string[]): z.ZodType {
  return shapeOf(() => {
    const schema = schemaOf(read)
    return {
      allOf: [schema],
      required: Object.keys(schema.properties as JsonObject).filter((name) => !optional.includes(name)),
    }
  })
}

/** Schema of the compaction config of a datasource in responses, including defaults. */
export const fullCompactionConfigShape = withAllFields(readCompactionConfig, 'type', 'projections')
/** Schema of the cluster compaction config in responses. */
export const fullClusterCompactionConfigShape = withAllFields(readClusterConfig)

const figures = { interval: z.string(), bytes: z.int(), segments: z.int() }

/** Schema of the compaction status of a datasource. */
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
  .meta({
    title: 'CompactionStatus',
    description: '`intervals` is present only with the query parameter `full`',
  })

/** Schema of the compaction config history of a datasource. */
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

/** Schema of a compaction preview. */
export const compactionPreviewShape = z
  .object({
    candidates: z.array(
      z.object({
        dataSource: z.string(),
        interval: z.string(),
        compactionInterval: z.string(),
        segments: z.array(z.string()).optional().describe('Not present with the query parameter `brief`'),
        bytes: z.int(),
        eligible: z.boolean(),
        mode: z.string().nullable(),
        slots: z.int(),
        reason: z.string(),
      }),
    ),
    eligible: z
      .object({ intervals: z.int(), bytes: z.int() })
      .describe('All candidates that the policy selects'),
    stats: z.record(z.string(), z.object({ compacted: content, skipped: content, awaiting: content })),
    skipped: z.array(
      z.object({ dataSource: z.string(), interval: z.string(), code: z.string(), reason: z.string() }),
    ),
  })
  .meta({ title: 'CompactionPreview' })

const forecastTotals = z.object({
  tasks: z.int(),
  segments: z.int(),
  bytes: z.int(),
  slotSeconds: z.int().describe('Total time that task slots are in use, in slot-seconds'),
  endsAt: z.string().optional(),
})
const scheduleDifferences = {
  configDifferences: z
    .array(
      z.object({
        dataSource: z.string(),
        fields: z.array(z.string()),
        isConfiguredBefore: z.boolean(),
        isConfiguredAfter: z.boolean(),
      }),
    )
    .optional()
    .describe('Datasources that are configured differently than in the first variant'),
  omittedConfigDifferences: z.int().optional(),
  differences: z
    .array(z.object({ dataSource: z.string(), interval: z.string(), before: z.string(), after: z.string() }))
    .optional()
    .describe(
      'Intervals that this variant treats differently from the first one; `before` (first variant) and `after` (this variant) are reason codes',
    ),
  omittedDifferences: z.int().optional(),
}

/** Schema of a compaction schedule. */
export const compactionScheduleShape = z
  .object({
    speed: z
      .enum(['measured', 'assumed'])
      .describe(
        '`measured`: times are based on the speed of earlier tasks. `assumed`: there are no earlier tasks, so times are based on an assumed speed',
      ),
    msPerTask: z
      .int()
      .describe('Time that each task takes regardless of its size, including the wait for a worker'),
    bytesPerSecond: z.int().nullable(),
    variants: z.array(
      z.object({
        name: z
          .string()
          .describe(
            'Name of the variant: `current`; `given` (the configuration in the request); a policy type; `migrated` (the current configurations, run by the duty instead of supervisors, or the other way around); `duty` or `supervisors` (the other driver with its own stored configurations; omitted if it has none)',
          ),
        driver: z.enum(['duty', 'supervisors']),
        clusterConfig: z.looseObject({}),
        slots: z.int(),
        totals: forecastTotals,
        tooFewSlots: z
          .int()
          .describe('Number of intervals that need more task slots than compaction may use'),
        runs: z.array(
          z.object({
            at: z.string(),
            totals: forecastTotals,
            tasks: z.array(
              z.object({
                dataSource: z.string(),
                interval: z.string(),
                bytes: z.int(),
                slots: z.int(),
                endsAt: z.string(),
                reason: z.string(),
              }),
            ),
          }),
        ),
        omittedRuns: z.int(),
        ...scheduleDifferences,
      }),
    ),
    missing: z
      .array(
        z.object({
          dataSource: z.string(),
          reason: z
            .enum(['noPermission', 'noConfiguration', 'noSegments'])
            .describe(
              '`noPermission`: the caller may not read the datasource. `noConfiguration`: the request has segments of it, but no configuration applies. `noSegments`: it has a configuration, but no used segments',
            ),
        }),
      )
      .describe('Datasources of the request that the schedule does not contain, and why; at most 200'),
    omittedMissing: z.int(),
  })
  .meta({ title: 'CompactionSchedule' })
