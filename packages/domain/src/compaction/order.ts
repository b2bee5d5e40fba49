import type { CompactionPolicy } from '../compaction-config/index.ts'
import { Heap } from '../heap/index.ts'
import type { Interval } from '../time/index.ts'
import { type Content, fragmentationIndex, placeInList } from './policy.ts'

/** What candidates are ordered by. */
export interface OrderedSubject {
  readonly dataSource: string
  /** The umbrella of the segments' intervals. */
  readonly interval: Interval
  readonly uncompacted: Content
}

const compare = <Value extends number | string>(a: Value, b: Value): number => (a < b ? -1 : a > b ? 1 : 0)

/** Later start first, then later end, then the name of the datasource: what settles the order of equals. */
export function newestFirst(
  a: Pick<OrderedSubject, 'dataSource' | 'interval'>,
  b: Pick<OrderedSubject, 'dataSource' | 'interval'>,
): number {
  return (
    compare(b.interval.start, a.interval.start) ||
    compare(b.interval.end, a.interval.end) ||
    compare(a.dataSource, b.dataSource)
  )
}

/** The candidates in the order in which the policy takes them, the same on every run whatever order they come in. */
export function orderCandidates<Subject extends OrderedSubject>(
  policy: CompactionPolicy,
  candidates: readonly Subject[],
): Subject[] {
  if (policy.type === 'fixedIntervalOrder') {
    const places = new Map(
      candidates.map((candidate) => [
        candidate,
        placeInList(policy.eligibleCandidates, candidate) ?? Number.POSITIVE_INFINITY,
      ]),
    )
    const placeOf = (candidate: Subject): number => places.get(candidate) as number
    return candidates.toSorted((a, b) => compare(placeOf(a), placeOf(b)) || newestFirst(a, b))
  }
  const preferred = policy.priorityDatasource
  const first = candidates.filter(({ dataSource }) => dataSource === preferred)
  const others = first.length === 0 ? candidates : candidates.filter((one) => one.dataSource !== preferred)
  const order = (some: readonly Subject[]): Subject[] =>
    policy.type === 'newestSegmentFirst'
      ? some.toSorted(newestFirst)
      : mostFragmentedFirst(some, ({ uncompacted }) => fragmentationIndex(policy, uncompacted))
  return [...order(first), ...order(others)]
}

/**
 * Indexes less than 1 apart count as equal in the recorded system, which is no proper ordering: a may equal b and b
 * equal c where a comes before c. So the next one is always the newest of those that nothing left comes before.
 */
function mostFragmentedFirst<Subject extends OrderedSubject>(
  candidates: readonly Subject[],
  indexOf: (candidate: Subject) => number,
): Subject[] {
  const sorted = candidates
    .map((candidate) => ({ candidate, index: indexOf(candidate), taken: false }))
    .sort((a, b) => b.index - a.index || newestFirst(a.candidate, b.candidate))
  const open = new Heap<(typeof sorted)[number]>((a, b) => newestFirst(a.candidate, b.candidate) < 0)
  const ordered: Subject[] = []
  let most = 0
  let next = 0
  while (ordered.length < sorted.length) {
    while (sorted[most]!.taken) most += 1
    const highest = sorted[most]!.index
    while (next < sorted.length && highest - sorted[next]!.index < 1) open.push(sorted[next++]!)
    const entry = open.pop()!
    entry.taken = true
    ordered.push(entry.candidate)
  }
  return ordered
}
