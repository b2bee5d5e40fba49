import { namesShape, segmentShape } from '@svc/shared/shapes'
import * as z from 'zod'

/** Total size of segments in bytes and their number. */
export const sizeAndCountShape = z.object({ size: z.int(), count: z.int() }).meta({ title: 'SizeAndCount' })

/** A segment with the servers that serve it. */
export const servedSegmentShape = z
  .object({ metadata: segmentShape.nullable(), servers: namesShape })
  .meta({ title: 'ServedSegment' })

/** A datasource with its segments. */
export const datasourceShape = z
  .object({ name: z.string(), properties: z.looseObject({}), segments: z.array(segmentShape) })
  .meta({ title: 'Datasource' })

/** Totals of the served segments of a datasource. */
export const datasourceSizesShape = z
  .object({
    tiers: z.record(z.string(), z.object({ size: z.int(), replicatedSize: z.int(), segmentCount: z.int() })),
    segments: z.object({
      maxTime: z.string(),
      size: z.int(),
      minTime: z.string(),
      count: z.int(),
      replicatedSize: z.int(),
    }),
  })
  .meta({ title: 'DatasourceSizes' })

/** Intervals as a list, with their sizes, or with their segments by ID. */
export const intervalsShape = z.union([
  namesShape,
  z.record(z.string(), sizeAndCountShape),
  z.record(z.string(), z.record(z.string(), servedSegmentShape)),
])
