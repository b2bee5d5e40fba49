import { parseSegmentId } from '@svc/domain/segment'
import type { Interval } from '@svc/domain/time'

/** The state of one tier. */
export interface TierView {
  readonly tier: string
  readonly servers: number
  /** Number of copies of each day, in order. */
  readonly copiesByDay: readonly number[]
  readonly sizeBytes: number
}

/** The state of one datasource in the cluster at one moment. */
export interface ClusterView {
  readonly tiers: readonly TierView[]
  readonly queuedLoads: number
  readonly queuedDrops: number
  /** Percentage of the required segments that are loaded; undefined if the rules require none. */
  readonly loadedPercent: number | undefined
  readonly deepStorage: { readonly files: number; readonly sizeBytes: number }
}

/** A server as returned by `/svc/coordinator/v1/servers?simple`. */
export interface AnsweredServer {
  readonly host: string
  readonly tier: string
  readonly type: string
}

/** A segment of a server as returned by `/svc/coordinator/v1/servers/{server}/segments?full`. */
export interface AnsweredSegment {
  readonly identifier: string
  readonly size: number
}

/** The load queue of a server as returned by `/svc/coordinator/v1/loadqueue?simple`. */
export interface AnsweredQueue {
  readonly segmentsToLoad: number
  readonly segmentsToDrop: number
}

/** Answers that were received at about the same time. */
export interface ClusterAnswers {
  readonly servers: readonly AnsweredServer[]
  /** By server. */
  readonly segments: ReadonlyMap<string, readonly AnsweredSegment[]>
  readonly queues: Readonly<Record<string, AnsweredQueue>>
  readonly loadedPercent: number | undefined
  readonly deepStorage: ClusterView['deepStorage']
}

/** The view of a datasource, from answers. Includes all `tiers`, in this order, even those without servers. */
export function viewOf(
  answers: ClusterAnswers,
  dataSource: string,
  days: readonly Interval[],
  tiers: readonly string[],
): ClusterView {
  const indexOfDay = new Map(days.map(({ start }, index) => [start, index]))
  const queues = Object.values(answers.queues)
  return {
    tiers: tiers.map((tier) => {
      const members = answers.servers.filter((server) => server.type === 'historical' && server.tier === tier)
      const copiesByDay = days.map(() => 0)
      // The list of servers has their sizes, too, but is as of another moment.
      let sizeBytes = 0
      for (const { identifier, size } of members.flatMap(({ host }) => answers.segments.get(host) ?? [])) {
        sizeBytes += size
        const day = indexOfDay.get(parseSegmentId(dataSource, identifier)?.interval.start ?? Number.NaN)
        if (day !== undefined) copiesByDay[day]! += 1
      }
      return { tier, servers: members.length, copiesByDay, sizeBytes }
    }),
    queuedLoads: queues.reduce((sum, { segmentsToLoad }) => sum + segmentsToLoad, 0),
    queuedDrops: queues.reduce((sum, { segmentsToDrop }) => sum + segmentsToDrop, 0),
    loadedPercent: answers.loadedPercent,
    deepStorage: answers.deepStorage,
  }
}

/** The number of copies in a tier. */
export function copiesOf({ copiesByDay }: TierView): number {
  return copiesByDay.reduce((sum, copies) => sum + copies, 0)
}
