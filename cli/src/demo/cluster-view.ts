import { parseSegmentId } from '@svc/domain/segment'
import type { Interval } from '@svc/domain/time'

/** What one tier has. */
export interface TierView {
  readonly tier: string
  readonly servers: number
  /** Copies of each day, in the order of the days. */
  readonly copiesByDay: readonly number[]
  readonly sizeBytes: number
}

/** What the cluster has of one datasource at one moment. */
export interface ClusterView {
  readonly tiers: readonly TierView[]
  readonly queuedLoads: number
  readonly queuedDrops: number
  /** Percent of what rules want that is served; undefined when they want nothing. */
  readonly loadedPercent: number | undefined
  readonly deepStorage: { readonly files: number; readonly sizeBytes: number }
}

/** A server as `/svc/coordinator/v1/servers?full` answers it. */
export interface AnsweredServer {
  readonly host: string
  readonly tier: string
  readonly type: string
  readonly currSize: number
}

/** The requests of a server as `/svc/coordinator/v1/loadqueue?simple` answers them. */
export interface AnsweredQueue {
  readonly segmentsToLoad: number
  readonly segmentsToDrop: number
}

/** What was answered at about one moment. */
export interface ClusterAnswers {
  readonly servers: readonly AnsweredServer[]
  /** Ids by server. */
  readonly segments: ReadonlyMap<string, readonly string[]>
  readonly queues: Readonly<Record<string, AnsweredQueue>>
  readonly loadedPercent: number | undefined
  readonly deepStorage: ClusterView['deepStorage']
}

/** Makes the view of a datasource from answers; `tiers` are shown in this order, also when they have no server. */
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
      for (const id of members.flatMap(({ host }) => answers.segments.get(host) ?? [])) {
        const day = indexOfDay.get(parseSegmentId(dataSource, id)?.interval.start ?? Number.NaN)
        if (day !== undefined) copiesByDay[day]! += 1
      }
      const sizeBytes = members.reduce((sum, { currSize }) => sum + currSize, 0)
      return { tier, servers: members.length, copiesByDay, sizeBytes }
    }),
    queuedLoads: queues.reduce((sum, { segmentsToLoad }) => sum + segmentsToLoad, 0),
    queuedDrops: queues.reduce((sum, { segmentsToDrop }) => sum + segmentsToDrop, 0),
    loadedPercent: answers.loadedPercent,
    deepStorage: answers.deepStorage,
  }
}

/** The number of copies that a tier has. */
export function copiesOf({ copiesByDay }: TierView): number {
  return copiesByDay.reduce((sum, copies) => sum + copies, 0)
}
