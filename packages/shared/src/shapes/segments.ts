import * as z from 'zod'

/** Schema of a list of names or IDs. */
export const namesShape = z.array(z.string())

/** Schema of the metadata of a segment. */
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
      '`dimensions` and `metrics` are comma-separated names; `lastCompactionState` is only present for compacted segments',
  })

/** Schema of who made a change, from where, and why. */
export const auditInfoShape = z
  .object({ author: z.string(), identity: z.string(), comment: z.string(), ip: z.string() })
  .meta({ title: 'AuditInfo' })

/** Shape of the answer to requests that mark segments as used or unused. */
export const segmentsMarkedShape = z
  .object({ numChangedSegments: z.int(), segmentStateChanged: z.boolean() })
  .meta({ title: 'SegmentsMarked' })
