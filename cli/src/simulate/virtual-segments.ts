import { payloadOf, type Segment, type SegmentPayload, segmentId, virtualLoadSpec } from '@svc/domain/segment'

/** How many segments there are to be, in how many datasources. */
export interface SimulationSize {
  readonly segments: number
  readonly datasources: number
}

const dayMs = 86_400_000
const mostDays = 1000
const version = '2026-01-01T00:00:00.000Z'

/** The size of a virtual segment, as segments often are. */
export const virtualSegmentSizeBytes = 500 * 1024 * 1024

const described = { loadSpec: virtualLoadSpec, dimensions: 'page', metrics: 'count' }

/**
 * Virtual segments of daily intervals that end with the day of `now`, as many as are asked for; nearly in the order of
 * their ids, in which a store takes them fastest.
 */
export function* virtualSegments(
  { segments, datasources }: SimulationSize,
  now: number,
): Generator<{ readonly segment: Segment; readonly payload: SegmentPayload }> {
  const lastDay = Math.floor(now / dayMs) * dayMs
  for (let number = 0; number < datasources; number++) {
    const own = Math.floor(segments / datasources) + (number < segments % datasources ? 1 : 0)
    const days = Math.min(own, mostDays)
    for (let day = days - 1; day >= 0; day--) {
      // The first days have one segment more where they do not come out even.
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
