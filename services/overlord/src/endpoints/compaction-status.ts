import { describeIntervals, describeStatus } from '@svc/domain/compaction'
import type { CompactionPlanner, LivePlan } from '@svc/shared/compaction'
import { compactionPreviewRoute, compactionStatusShape } from '@svc/shared/compaction'
import { authenticated, config, datasource, jsonAnswer, type Route, route } from '@svc/shared/http'
import { permittedNames } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { presence } from '@svc/shared/wire'
import * as z from 'zod'
import { compactionScheduleRoute } from './compaction-schedule.ts'

const path = '/svc/indexer/v1/compaction'
const statusQuery = { full: presence }

/** Returns the compaction status of a datasource, or undefined if it has none. */
export async function compactionStatusOf(
  planner: CompactionPlanner,
  dataSource: string,
): Promise<object | undefined> {
  const live = await planner.plan()
  return live.findings.has(dataSource) ? statusIn(live, dataSource, false) : undefined
}

function statusIn({ plan, findings }: LivePlan, dataSource: string, full: boolean): object {
  const found = findings.get(dataSource)
  return {
    ...describeStatus(plan, dataSource),
    ...(full && found ? { intervals: describeIntervals(plan, found) } : {}),
  }
}

const hasData = ({ plan }: LivePlan, dataSource: string): boolean =>
  Object.values(plan.progress.get(dataSource) ?? {}).some(({ segments }) => segments > 0)

/** The endpoints for the compaction status, no matter what runs compaction, and for previews. */
export function compactionStatusRoutes(
  planner: CompactionPlanner,
  context: Pick<ServiceContext, 'clock' | 'settings'>,
): Route[] {
  return [
    route({
      method: 'GET',
      path: `${path}/status/datasources`,
      access: authenticated,
      summary:
        'List the compaction status of each datasource that the caller may read; `full` adds every interval',
      query: statusQuery,
      answers: [jsonAnswer(z.object({ latestStatus: z.array(compactionStatusShape) }))],
      handle: async ({ caller, query }) => {
        const live = await planner.plan()
        const readable = await permittedNames(caller, live.findings.keys())
        // Datasources without data come last, because Druid 37 does not know them yet.
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
      summary: 'Get the compaction status of one datasource (zero or one entry)',
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
    compactionScheduleRoute(`${path}/schedule`, config('WRITE'), planner, context),
  ]
}
