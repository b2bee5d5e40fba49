import { describeIntervals, describeStatus } from '@svc/domain/compaction'
import { compactionPreviewRoute } from '@svc/shared/compaction'
import type { CompactionPlanner, LivePlan } from '@svc/shared/compaction-planning'
import { authenticated, config, datasource, jsonAnswer, type Route, route } from '@svc/shared/http'
import { compactionStatusShape } from '@svc/shared/shapes'
import { presence } from '@svc/shared/wire'
import { z } from 'zod'

const path = '/svc/indexer/v1/compaction'
const statusQuery = z.object({ full: presence })

/** The status of a datasource, as the endpoints of compaction and of supervisors tell it; undefined if it has none. */
export async function compactionStatusOf(
  planner: CompactionPlanner,
  dataSource: string,
): Promise<object | undefined> {
  const live = await planner.plan()
  return live.findings.has(dataSource) ? statusIn(live, dataSource, false) : undefined
}

function statusIn({ plan, findings, cluster }: LivePlan, dataSource: string, full: boolean): object {
  const { dataSource: name, scheduleStatus, ...figures } = describeStatus(plan, dataSource)
  const found = findings.get(dataSource)
  return {
    dataSource: name,
    scheduleStatus,
    // Only supervisors have something to say, as in the recorded system.
    ...(cluster.useSupervisors ? { message: null } : {}),
    ...figures,
    ...(full && found ? { intervals: describeIntervals(plan, found) } : {}),
  }
}

const hasData = ({ plan }: LivePlan, dataSource: string): boolean =>
  Object.values(plan.progress.get(dataSource) ?? {}).some(({ segments }) => segments > 0)

/** How far compaction is, whoever runs it, and previews of it. */
export function compactionStatusRoutes(planner: CompactionPlanner): Route[] {
  return [
    route({
      method: 'GET',
      path: `${path}/status/datasources`,
      access: authenticated,
      summary:
        'How far the compaction of each datasource is that the caller may read; with full every interval',
      query: statusQuery,
      answers: [jsonAnswer(z.object({ latestStatus: z.array(compactionStatusShape) }))],
      handle: async ({ caller, query }) => {
        const live = await planner.plan()
        const readable = [...live.findings.keys()].filter((name) => caller.can('READ', 'DATASOURCE', name))
        // Those without data come last: the recorded system does not know of them yet.
        const [known = [], empty = []] = [true, false].map((wanted) =>
          readable.filter((name) => hasData(live, name) === wanted),
        )
        return { latestStatus: [...known, ...empty].map((name) => statusIn(live, name, query.full)) }
      },
    }),
    route({
      method: 'GET',
      path: `${path}/status/datasources/:dataSource`,
      access: datasource('READ'),
      summary: 'How far the compaction of one datasource is: zero or one entry',
      query: statusQuery,
      answers: [jsonAnswer(z.object({ latestStatus: z.array(compactionStatusShape) }))],
      handle: async ({ params, query }) => {
        const dataSource = params.dataSource as string
        const live = await planner.plan()
        return {
          latestStatus: live.findings.has(dataSource) ? [statusIn(live, dataSource, query.full)] : [],
        }
      },
    }),
    compactionPreviewRoute(`${path}/simulate`, config('WRITE'), planner),
  ]
}
