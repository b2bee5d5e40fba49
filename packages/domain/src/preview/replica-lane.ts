import { type Axis, addPieces, BytesOverTime } from './buckets.ts'
import { type Outcome, outcomeOf } from './decide-outcome.ts'
import type { CopyChange } from './pieces.ts'

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
  outcome: Outcome,
  dataSource: string,
  axis: Axis,
): Generator<undefined, ReplicaLane> {
  const sums = Object.fromEntries(replicaStates.map((state) => [state, new BytesOverTime(axis)])) as Record<
    ReplicaState,
    BytesOverTime
  >
  const datasource = outcomeOf(outcome, dataSource)
  if (datasource) {
    const { segments, columns } = datasource
    yield* addPieces(datasource, axis, (change) => [{ series: sums[stateOf(change)], copies: 1 }])
    for (const [at, index] of columns.overshadowedIndexes.entries()) {
      if (at % slice === 0) yield
      sums.overshadowed.add(segments.start(index), segments.end(index), segments.sizeBytes(index))
    }
  }
  return Object.fromEntries(
    replicaStates.map((state) => [state, sums[state].sums()]),
  ) as unknown as ReplicaLane
}

// Number of segments between two pauses.
const slice = 16_384

function stateOf({ target, before, loaded, unplaced }: CopyChange): ReplicaState {
  if (target.action === 'drop') return 'notLoaded'
  if (loaded + unplaced + target.waiting + target.beyondServers === 0) return 'served'
  return before === 0 ? 'unserved' : 'underReplicated'
}
