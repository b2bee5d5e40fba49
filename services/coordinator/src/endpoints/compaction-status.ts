import { describeIntervals, describeStatus, explainCompaction } from '@svc/domain/compaction'
import { notFound } from '@svc/domain/failure'
import { formatInstant, formatInterval } from '@svc/domain/time'
import { omittable, readDatasourceName } from '@svc/domain/validation'
import {
  type CompactionPlanner,
  compactionPreviewRoute,
  compactionRateOf,
  compactionStatusShape,
  forecastOf,
  scheduleOf,
} from '@svc/shared/compaction'
import type { DutyGroup } from '@svc/shared/duties'
import { config, datasource, emptyAnswer, jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { accessTo, mayAccess, permittedItems } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { presence } from '@svc/shared/wire'
import * as z from 'zod'
import { pathInterval } from './datasources.ts'

const path = '/svc/coordinator/v1/compaction'

const statusQuery = { dataSource: omittable(readDatasourceName), full: presence }
const progressQuery = { dataSource: readDatasourceName }

/** Returns the endpoints for the status of the compaction duty. The status is empty if supervisors run compaction. */
export function compactionStatusRoutes(
  context: Pick<ServiceContext, 'clock' | 'settings'>,
  planner: CompactionPlanner,
  duty: Pick<DutyGroup, 'wake' | 'untilNextRunMs'>,
): Route[] {
  const livePlan = async () => ((await planner.driver()) === 'duty' ? await planner.plan('duty') : undefined)
  const notEnabled = (dataSource: string) =>
    notFound(`The coordinator does not run automatic compaction for datasource [${dataSource}]`)

  return [
    route({
      method: 'GET',
      path: `${path}/status`,
      access: state('READ'),
      summary: 'Get the compaction status of all datasources or of one; `full` adds every interval',
      query: statusQuery,
      answers: [jsonAnswer(z.object({ latestStatus: z.array(compactionStatusShape) }))],
      handle: async ({ query: { dataSource, full }, caller }) => {
        const live = await livePlan()
        const findings = live === undefined ? [] : [...live.findings.values()]
        const matching = await permittedItems(
          caller,
          findings.filter(({ config }) => dataSource === undefined || config.dataSource === dataSource),
          ({ config }) => config.dataSource,
          'SEE',
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
      summary: 'Get the number of bytes that await compaction in a datasource',
      query: progressQuery,
      answers: [jsonAnswer(z.object({ remainingSegmentSize: z.int() }))],
      handle: async ({ query: { dataSource }, caller }) => {
        const plan = (await mayAccess(caller, dataSource, 'SEE')) ? (await livePlan())?.plan : undefined
        const counts = plan?.counts.get(dataSource)
        if (counts === undefined) throw notEnabled(dataSource)
        return { remainingSegmentSize: counts.awaiting.bytes }
      },
    }),
    explainRoute(planner, context, duty),
    compactionPreviewRoute(`${path}/simulate`, state('WRITE'), planner),
    route({
      method: 'POST',
      path: `${path}/compact`,
      access: config('WRITE'),
      summary: 'Run the compaction duty as soon as possible',
      answers: [emptyAnswer],
      handle: () => duty.wake(),
    }),
  ]
}

const findingShape = z.object({
  interval: z.string(),
  code: z.string().describe('A stable code, for example `UP_TO_DATE` or `WAITING`'),
  reason: z.string(),
  segments: z.int(),
  bytes: z.int(),
  place: z
    .int()
    .optional()
    .describe(
      'Position in the order of the compaction policy, among the intervals that the caller may read, starting at 1',
    ),
  bytesAhead: z.int().optional(),
  doneAt: z
    .string()
    .optional()
    .describe(
      'Expected completion time of the compaction, assuming that no segments are added and no tasks fail',
    ),
})
const explanationShape = z
  .object({
    dataSource: z.string(),
    driver: z.enum(['duty', 'supervisors']),
    configured: z.boolean().describe('Whether compaction is configured for the datasource'),
    speed: z
      .enum(['measured', 'assumed'])
      .describe(
        '`measured`: expected times are based on the speed of earlier tasks. `assumed`: there are no earlier tasks, so expected times are based on 2 s for each task plus processing at 10 MB/s',
      ),
    intervals: z.array(findingShape),
  })
  .meta({ title: 'CompactionExplanation' })

/** The endpoint that explains intervals, whatever runs compaction. */
const explainRoute = (
  planner: CompactionPlanner,
  { clock, settings }: Pick<ServiceContext, 'clock' | 'settings'>,
  duty: Pick<DutyGroup, 'untilNextRunMs'>,
): Route =>
  route({
    method: 'GET',
    path: '/svc/coordinator/v1/datasources/:dataSource/intervals/:interval/explainCompaction',
    access: datasource('READ'),
    summary:
      'Explain why each interval that overlaps the given interval (format: `start_end`) is or is not compacted',
    answers: [jsonAnswer(explanationShape)],
    handle: async ({ params, caller }) => {
      const dataSource = params.dataSource as string
      const wanted = pathInterval(params.interval as string)
      const driver = await planner.driver()
      const live = await planner.plan(driver)
      const sees = await accessTo(caller, live.findings.keys(), 'SEE')
      const reader = {
        sees,
        seesAll: [...live.findings.keys()].every(sees),
        seesCluster: caller.can('READ', 'STATE', 'STATE'),
      }
      const findings = live.findings.get(dataSource)
      const now = clock.now()
      const { rate, isMeasured } = compactionRateOf(live)
      const state = {
        plan: live.plan,
        schedule: scheduleOf(live, now),
        forecast: await forecastOf(live, {
          now,
          periodMs: settings.get('svc.compaction.period'),
          untilNextRunMs: driver === 'duty' ? duty.untilNextRunMs() : undefined,
          rate,
        }),
      }
      const found = findings === undefined ? [] : explainCompaction({ ...state, findings }, wanted, reader)
      return {
        dataSource,
        driver,
        configured: findings !== undefined,
        speed: isMeasured ? 'measured' : 'assumed',
        intervals: found.map(({ interval, doneAt, ...one }) => ({
          interval: formatInterval(interval),
          ...one,
          ...(doneAt === undefined ? {} : { doneAt: formatInstant(doneAt) }),
        })),
      }
    },
  })
