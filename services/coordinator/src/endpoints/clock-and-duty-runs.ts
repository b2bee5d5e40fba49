import { forbidden, unavailable } from '@svc/domain/failure'
import { formatInstant } from '@svc/domain/time'
import {
  omittable,
  optional,
  readFields,
  readLater,
  readList,
  readListingProblems,
  readText,
  refuse,
  schemaOf,
} from '@svc/domain/validation'
import { readClockChange, type SimulatedClock } from '@svc/shared/clock'
import type { DutyGroup } from '@svc/shared/duties'
import { jsonAnswer, jsonBody, type Route, route, state } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import * as z from 'zod'
import type { ClusterView } from '../cluster-view.ts'
import { atLeader, type Leadership } from '../leadership/index.ts'

const path = (rest: string): string => `/svc/simulation/v1${rest}`

const readRun = readFields({
  groups: optional(readList(readText, { max: 100, expected: 'a list of duty group names' })),
})

const clockShape = z.object({ now: z.string(), rate: z.number() }).meta({ title: 'Clock' })
const runShape = z
  .object({
    now: z.string(),
    groups: z.array(z.object({ name: z.string(), duties: z.array(z.looseObject({})) })),
  })
  .meta({ title: 'DutyRuns' })

/** Returns the endpoints that show and move the simulated clock and that run duties on demand. */
export function clockAndDutyRunRoutes({ context, leadership, dutyGroups }: ClusterView): Route[] {
  return [
    ...clockRoutes(context),
    atLeader(leadership, context, dutyRunRoute(context, leadership, dutyGroups)),
  ]
}

/** The endpoints that show and move the simulated clock. */
function clockRoutes(context: Pick<ServiceContext, 'simulatedClock'>): Route[] {
  return [
    route({
      method: 'GET',
      path: path('/clock'),
      access: state('READ'),
      summary: 'Get the simulated time of the cluster and its speed relative to real time',
      answers: [jsonAnswer(clockShape)],
      handle: async () => {
        const simulated = simulatedClockOf(context)
        await simulated.refresh()
        return describe(simulated)
      },
    }),
    route({
      method: 'POST',
      path: path('/clock'),
      access: state('WRITE'),
      summary: 'Move the simulated clock forward (to a time or by a period), or change its speed',
      body: jsonBody(readLater(() => schemaOf(readClockChange))),
      answers: [jsonAnswer(clockShape)],
      handle: async ({ body, audit }) => {
        const simulated = simulatedClockOf(context)
        await simulated.move(readListingProblems(readClockChange, body), audit)
        return describe(simulated)
      },
    }),
  ]
}

/** The endpoint that runs duties on demand. */
const dutyRunRoute = (
  { simulatedClock, clock }: Pick<ServiceContext, 'simulatedClock' | 'clock'>,
  leadership: Leadership,
  dutyGroups: readonly DutyGroup[],
): Route =>
  route({
    method: 'POST',
    path: path('/run'),
    access: state('WRITE'),
    summary: 'Run some or all duty groups now, using the time of the cluster, and return what they did',
    body: jsonBody(omittable(readRun), { optional: true }),
    answers: [jsonAnswer(runShape)],
    handle: async ({ body }) => {
      const names = body?.groups
      const known = dutyGroups.map(({ name }) => name)
      const unknown = names?.find((name) => !known.includes(name))
      if (unknown !== undefined) {
        throw refuse('groups', unknown, `one of [${known.join(', ')}]`)
      }
      const term = leadership.term()
      if (term === undefined) throw unavailable('This coordinator is not the leader')
      // The clock may have just been moved through another coordinator.
      await simulatedClock?.refresh()
      const now = formatInstant(clock.now())
      const groups = []
      for (const group of dutyGroups) {
        if (names && !names.includes(group.name)) continue
        groups.push({ name: group.name, duties: await group.runNow(term) })
      }
      return { now, groups }
    },
  })

function simulatedClockOf({ simulatedClock }: Pick<ServiceContext, 'simulatedClock'>): SimulatedClock {
  if (simulatedClock) return simulatedClock
  throw forbidden(
    'The clock of this cluster is not simulated: set [svc.simulation.clock.enabled] to [true] on every server',
  )
}

const describe = (simulated: SimulatedClock) => ({
  now: formatInstant(simulated.now()),
  rate: simulated.rate(),
})
