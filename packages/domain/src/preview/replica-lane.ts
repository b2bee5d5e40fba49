import { type Axis, BytesOverTime } from './buckets.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { Outcome } from './decide-outcome.ts'
import { maxBlock, SegmentCounter } from './segment-counter.ts'

/** How completely segments are served, from the worst to the best, and what else there is. */
export const replicaStates = ['unserved', 'underReplicated', 'served', 'notLoaded', 'overshadowed'] as const
export type ReplicaState = (typeof replicaStates)[number]

/** Bytes of the segments in each state, for each bucket of an axis. */
export type ReplicaLane = Readonly<Record<ReplicaState, readonly number[]>>

/**
 * Returns how completely the segments of a datasource are served at the moment, compared with what its rules require.
 * Segments that a drop rule matches are not loaded. Yields regularly.
 */
export function* replicaLaneOf(
  { cluster, datasources }: Outcome,
  dataSource: string,
  axis: Axis,
): Generator<undefined, ReplicaLane> {
  const sums = Object.fromEntries(replicaStates.map((state) => [state, new BytesOverTime(axis)])) as Record<
    ReplicaState,
    BytesOverTime
  >
  const datasource = datasources.find(({ columns }) => columns.dataSource === dataSource)
  if (datasource) yield* addSegments(datasource, cluster.tiers.length, sums)
  return Object.fromEntries(
    replicaStates.map((state) => [state, sums[state].sums()]),
  ) as unknown as ReplicaLane
}

function* addSegments(
  datasource: DatasourceOutcome,
  tierCount: number,
  sums: Record<ReplicaState, BytesOverTime>,
): Generator<undefined, void> {
  const { columns, segments, stretches, targetOf } = datasource
  const { starts, ends, bytesBefore, overshadowedIndexes } = columns
  const counter = new SegmentCounter(datasource, tierCount)
  for (const { from, to, rule } of stretches) {
    const target = targetOf(rule)
    for (let block = from; block < to; block += maxBlock) {
      const blockEnd = Math.min(to, block + maxBlock)
      counter.count(target, block, blockEnd)
      yield
      for (let position = block; position < blockEnd; position += 1) {
        const at = position - block
        const missing = counter.loaded[at]! + counter.unplaced[at]! + target.waiting
        const state: ReplicaState =
          target.action === 'drop'
            ? 'notLoaded'
            : missing === 0
              ? 'served'
              : counter.before[at] === 0
                ? 'unserved'
                : 'underReplicated'
        sums[state].add(
          starts[position]!,
          ends[position]!,
          bytesBefore[position + 1]! - bytesBefore[position]!,
        )
      }
    }
  }
  for (const [at, index] of overshadowedIndexes.entries()) {
    if (at % maxBlock === 0) yield
    sums.overshadowed.add(segments.start(index), segments.end(index), segments.sizeBytes(index))
  }
}
