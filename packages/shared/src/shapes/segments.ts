import { z } from 'zod'

/** Names or ids. */
export const namesShape = z.array(z.string())

/** The metadata of a segment. */
export const segmentShape = z
  .object({
    dataSource: z.string(),
    interval: z.string(),
    version: z.string(),
    loadSpec: z.looseObject({ type: z.string() }),
    dimensions: z.string(),
    metrics: z.string(),
    shardSpec: z.looseObject({ type: z.string(), partitionNum: z.int(), partitions: z.int() }),
    binaryVersion: z.int(),
    size: z.int(),
    totalRows: z.int(),
    identifier: z.string(),
    lastCompactionState: z.unknown().optional(),
    indexingStateFingerprint: z.string().optional(),
  })
  .meta({
    title: 'Segment',
    description:
      'Dimensions and metrics are names with commas between them; what a segment was compacted to is there once it was',
  })

/** Whether a server leads. */
export const leaderShape = z.object({ leader: z.boolean() })

/** Who made a change, from where and why, as histories tell it. */
export const auditInfoShape = z
  .object({ author: z.string(), identity: z.string(), comment: z.string(), ip: z.string() })
  .meta({ title: 'AuditInfo' })
