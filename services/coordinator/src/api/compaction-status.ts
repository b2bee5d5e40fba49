import { describeIntervals, describeStatus } from '@svc/domain/compaction'
import { notFound } from '@svc/domain/failure'
import { compactionPreviewRoute } from '@svc/shared/compaction'
import type { CompactionPlanner } from '@svc/shared/compaction-planning'
import { config, emptyAnswer, jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { compactionStatusShape } from '@svc/shared/shapes'
import { datasourceParameter, presence } from '@svc/shared/wire'
import { z } from 'zod'

const path = '/svc/coordinator/v1/compaction'

/** How far the compaction that the duty runs has come; nothing where supervisors run it. */
export function compactionStatusRoutes(planner: CompactionPlanner, runNow: () => void): Route[] {
  const livePlan = async () => ((await planner.driver()) === 'duty' ? await planner.plan('duty') : undefined)
  const notEnabled = (dataSource: string) =>
    notFound(`Datasource [${dataSource}] has no automatic compaction that the coordinator runs`)

  return [
    route({
      method: 'GET',
      path: `${path}/status`,
      access: state('READ'),
      summary: 'How far the compaction of each datasource, or of one, is; with full every interval',
      query: z.object({ dataSource: datasourceParameter.optional(), full: presence }),
      answers: [jsonAnswer(z.object({ latestStatus: z.array(compactionStatusShape) }))],
      handle: async ({ query: { dataSource, full }, caller }) => {
        const live = await livePlan()
        const findings = live === undefined ? [] : [...live.findings.values()]
        const asked = findings.filter(
          ({ config: { dataSource: name } }) =>
            caller.sees(name) && (dataSource === undefined || name === dataSource),
        )
        if (dataSource !== undefined && asked.length === 0) throw notEnabled(dataSource)
        return {
          latestStatus: asked.map((found) => ({
            ...describeStatus(live!.plan, found.config.dataSource),
            ...(full ? { intervals: describeIntervals(live!.plan, found) } : {}),
          })),
        }
      },
    }),
    route({
      method: 'GET',
      path: `${path}/progress`,
      access: state('READ'),
      summary: 'The bytes of a datasource that await compaction',
      query: z.object({ dataSource: datasourceParameter.min(1, { error: 'the name of a datasource' }) }),
      answers: [jsonAnswer(z.object({ remainingSegmentSize: z.int() }))],
      handle: async ({ query: { dataSource }, caller }) => {
        const plan = caller.sees(dataSource) ? (await livePlan())?.plan : undefined
        const counts = plan?.counts.get(dataSource)
        if (counts === undefined) throw notEnabled(dataSource)
        return { remainingSegmentSize: counts.awaiting.bytes }
      },
    }),
    compactionPreviewRoute(`${path}/simulate`, state('WRITE'), planner),
    route({
      method: 'POST',
      path: `${path}/compact`,
      access: config('WRITE'),
      summary: 'Runs the duty of compaction as soon as possible',
      answers: [emptyAnswer],
      handle: () => runNow(),
    }),
  ]
}
