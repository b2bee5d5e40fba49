import { z } from 'zod'

/** Schema of the statistics about the runs of a duty group. */
export const dutyGroupShape = z
  .object({
    name: z.string(),
    period: z.string(),
    dutyNames: z.array(z.string()),
    lastRunStart: z.string().nullable(),
    lastRunEnd: z.string().nullable(),
    avgRuntimeMillis: z.int(),
    lastRunMillis: z.int(),
    runs: z.int(),
    failures: z.record(z.string(), z.int()),
  })
  .meta({ title: 'DutyGroup' })
