import { Heap } from '../heap/index.ts'
import { ascending } from '../order/index.ts'
import { sortInSteps } from '../steps/index.ts'
import type { Interval } from '../time/index.ts'
import type { CompactionPolicy } from './config/index.ts'
import { type Content, fragmentationIndex, placeInList } from './policy.ts'

/** The fields that determine the order of candidates. */
export interface OrderedSubject {
  readonly dataSource: string
  /** Umbrella interval of the segments. */
  readonly interval: Interval
  readonly uncompacted: Content
}

// Number of candidates between two pauses.
const sliceLength = 2000

/** Orders by later start, then by later end, then by datasource. This makes the order of equal candidates stable. */
function newestFirst(
  a: Pick<OrderedSubject, 'dataSource' | 'interval'>,
  b: Pick<OrderedSubject, 'dataSource' | 'interval'>,
): number {
  return (
    ascending(b.interval.start, a.interval.start) ||
    ascending(b.interval.end, a.interval.end) ||
    ascending(a.dataSource, b.dataSource)
  )
}

/**
 * Returns the candidates in the order of the policy. The order does not depend on the order of the input. Pauses
 * regularly.
 */
export function* orderCandidates<Subject extends OrderedSubject>(
  policy: CompactionPolicy,
  candidates: readonly Subject[],
): Generator<undefined, Subject[]> {
  if (policy.type === 'fixedIntervalOrder') {
    const places = new Map(
      candidates.map((candidate) => [
        candidate,
        placeInList(policy.eligibleCandidates, candidate) ?? Number.POSITIVE_INFINITY,
      ]),
    )
    const placeOf = (candidate: Subject): number => places.get(candidate) as number
    return yield* sortInSteps(candidates, (a, b) => ascending(placeOf(a), placeOf(b)) || newestFirst(a, b))
  }
  const preferred = policy.priorityDatasource
  const first = candidates.filter(({ dataSource }) => dataSource === preferred)
  const others = first.length === 0 ? candidates : candidates.filter((one) => one.dataSource !== preferred)
  const order = (some: readonly Subject[]): Generator<undefined, Subject[]> =>
    policy.type === 'newestSegmentFirst'
      ? sortInSteps(some, newestFirst)
      : mostFragmentedFirst(some, ({ uncompacted }) => fragmentationIndex(policy, uncompacted))
  return (yield* order(first)).concat(yield* order(others))
}

/**
 * Druid 37 treats indexes that differ by less than 1 as equal. This is not a valid order: a can equal b, and b can
 * equal c, although a comes before c. So the next candidate is always the newest of those that no remaining one comes
 * before.
 */
function* mostFragmentedFirst<Subject extends OrderedSubject>(
  candidates: readonly Subject[],
  indexOf: (candidate: Subject) => number,
): Generator<undefined, Subject[]> {
  const newest = yield* sortInSteps(candidates, newestFirst)
  // Comparing places among the newest is faster than comparing candidates again.
  const sorted = yield* sortInSteps(
    newest.map((candidate, place) => ({ candidate, place, index: indexOf(candidate), taken: false })),
    (a, b) => b.index - a.index || a.place - b.place,
  )
  const open = new Heap<(typeof sorted)[number]>((a, b) => a.place < b.place)
  const ordered: Subject[] = []
  let max = 0
  let next = 0
  while (ordered.length < sorted.length) {
    while (sorted[max]!.taken) max += 1
    const highest = sorted[max]!.index
    while (next < sorted.length && highest - sorted[next]!.index < 1) {
      open.push(sorted[next++]!)
      if (next % sliceLength === 0) yield
    }
    const entry = open.pop()!
    entry.taken = true
    ordered.push(entry.candidate)
    if (ordered.length % sliceLength === 0) yield
  }
  return ordered
}
