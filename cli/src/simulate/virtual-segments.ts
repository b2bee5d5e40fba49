import { payloadOf, type Segment, type SegmentPayload, segmentId, virtualLoadSpec } from '@svc/domain/segment'

/** The number of segments and datasources to create. */
export interface SimulationSize {
  readonly segments: number
  readonly datasources: number
}

const dayMs = 86_400_000
const maxDays = 1000
const version = '2026-01-01T00:00:00.000Z'

/** The size of a virtual segment; typical for real ones. */
export const virtualSegmentSizeBytes = 500 * 1024 * 1024

const described = { loadSpec: virtualLoadSpec, dimensions: 'page', metrics: 'count' }

/**
 * The requested number of virtual segments, in daily intervals that end with the day of `now`. They are nearly in the
 * order of their ids, which is the fastest order to insert.
 */
export function* virtualSegments(
  { segments, datasources }: SimulationSize,
  now: number,
): Generator<{ readonly segment: Segment; readonly payload: SegmentPayload }> {
  const lastDay = Math.floor(now / dayMs) * dayMs
  for (let number = 0; number < datasources; number++) {
    const own = Math.floor(segments / datasources) + (number < segments % datasources ? 1 : 0)
    const days = Math.min(own, maxDays)
    for (let day = days - 1; day >= 0; day--) {
      // If the segments cannot be divided evenly, the last days have one more each.
      const partitions = Math.floor(own / days) + (day < own % days ? 1 : 0)
      const start = lastDay - day * dayMs
      for (let partitionNum = 0; partitionNum < partitions; partitionNum++) {
        const interval = { start, end: start + dayMs }
        const key = { dataSource: `simulated-${number + 1}`, interval, version, partitionNum }
        const segment = {
          ...key,
          id: segmentId(key),
          partitions,
          sizeBytes: virtualSegmentSizeBytes,
          totalRows: 1_000_000,
        }
        yield { segment, payload: payloadOf(segment, described) }
      }
    }
  }
}
