import { describeIntervals, describeStatus } from '@svc/domain/compaction'
import { notFound } from '@svc/domain/failure'
import { checked, omittable } from '@svc/domain/validation'
import type { CompactionPlanner } from '@svc/shared/compaction'
import { compactionPreviewRoute, compactionStatusShape } from '@svc/shared/compaction'
import { config, emptyAnswer, jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { datasourceParameter, presence } from '@svc/shared/wire'
import { z } from 'zod'

const path = '/svc/coordinator/v1/compaction'

const statusQuery = { dataSource: omittable(datasourceParameter), full: presence }
const progressQuery = {
  dataSource: checked(datasourceParameter, (name) => name !== '', 'the name of a datasource'),
}

/** Returns the endpoints for the status of the compaction duty. The status is empty if supervisors run compaction. */
export function compactionStatusRoutes(planner: CompactionPlanner, runNow: () => void): Route[] {
  const livePlan = async () => ((await planner.driver()) === 'duty' ? await planner.plan('duty') : undefined)
  const notEnabled = (dataSource: string) =>
    notFound(`The coordinator does not run automatic compaction for datasource [${dataSource}]`)

  return [
    route({
      method: 'GET',
      path: `${path}/status`,
      access: state('READ'),
      summary: 'Get the compaction status of all datasources or of one; full adds every interval',
      query: statusQuery,
      answers: [jsonAnswer(z.object({ latestStatus: z.array(compactionStatusShape) }))],
      handle: async ({ query: { dataSource, full }, caller }) => {
        const live = await livePlan()
        const findings = live === undefined ? [] : [...live.findings.values()]
        const matching = findings.filter(
          ({ config: { dataSource: name } }) =>
            caller.sees(name) && (dataSource === undefined || name === dataSource),
        )
        if (dataSource !== undefined && matching.length === 0) throw notEnabled(dataSource)
        return {
          latestStatus: matching.map((found) => ({
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
      summary: 'Get the number of bytes of a datasource that await compaction',
      query: progressQuery,
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
      summary: 'Run the compaction duty as soon as possible',
      answers: [emptyAnswer],
      handle: () => runNow(),
    }),
  ]
}
