import { forbidden, invalidInput, unavailable } from '@svc/domain/failure'
import { formatInstant } from '@svc/domain/time'
import { parseClockChange, type SimulatedClock } from '@svc/shared/clock'
import { jsonAnswer, jsonBody, type Route, route, state } from '@svc/shared/http'
import { listOf, parseJson, shapedParser, unparsed } from '@svc/shared/wire'
import { z } from 'zod'
import { atLeader } from '../leadership/index.ts'
import type { ClusterView } from './cluster-view.ts'

const path = (rest: string): string => `/svc/simulation/v1${rest}`

const runSchema = z.strictObject({
  groups: listOf(z.string({ error: 'a text' }), {
    error: 'a list of names of duty groups',
    max: 100,
  }).nullish(),
})
const parseRun = shapedParser(
  runSchema,
  (json) => parseJson(runSchema, json ?? {}, { subject: 'request' }).groups ?? undefined,
)

const clockShape = z.object({ now: z.string(), rate: z.number() }).meta({ title: 'Clock' })
const runShape = z
  .object({
    now: z.string(),
    groups: z.array(z.object({ name: z.string(), duties: z.array(z.looseObject({})) })),
  })
  .meta({ title: 'DutyRuns' })

/** The endpoints of the clock that can be moved, and of runs of the duties on demand. */
export function clockAndDutyRunRoutes({ context, leadership, dutyGroups }: ClusterView): Route[] {
  const { simulatedClock, clock } = context

  const theClock = (): SimulatedClock => {
    if (simulatedClock) return simulatedClock
    throw forbidden(
      'The clock of this cluster is not simulated; set [svc.simulation.clock.enabled] to true on every server',
    )
  }
  const describe = (simulated: SimulatedClock) => ({
    now: formatInstant(simulated.now()),
    rate: simulated.rate(),
  })

  return [
    route({
      method: 'GET',
      path: path('/clock'),
      access: state('READ'),
      summary: 'The simulated time of the cluster, and how many times as fast as real time it goes',
      answers: [jsonAnswer(clockShape)],
      handle: async () => {
        const simulated = theClock()
        await simulated.refresh()
        return describe(simulated)
      },
    }),
    route({
      method: 'POST',
      path: path('/clock'),
      access: state('WRITE'),
      summary: 'Moves the simulated time to a time or by a period, or changes its pace; it never goes back',
      body: jsonBody(unparsed(parseClockChange.shape)),
      answers: [jsonAnswer(clockShape)],
      handle: async ({ body, audit }) => {
        const simulated = theClock()
        await simulated.move(parseClockChange(body), audit)
        return describe(simulated)
      },
    }),
    atLeader(
      leadership,
      context,
      route({
        method: 'POST',
        path: path('/run'),
        access: state('WRITE'),
        summary: 'Runs the duties as of the time of the cluster, all or some groups, and tells what they did',
        body: jsonBody(parseRun, { optional: true }),
        answers: [jsonAnswer(runShape)],
        handle: async ({ body: names }) => {
          const known = dutyGroups.map(({ name }) => name)
          const unknown = names?.find((name) => !known.includes(name))
          if (unknown !== undefined) {
            throw invalidInput(`groups names the duty group [${unknown}]; expected ${known.join(', ')}`, {
              field: 'groups',
            })
          }
          const term = leadership.term()
          if (term === undefined) throw unavailable('This coordinator does not lead')
          // Whoever has just moved the clock elsewhere means the time after that.
          await simulatedClock?.refresh()
          const now = formatInstant(clock.now())
          const groups = []
          for (const group of dutyGroups) {
            if (names && !names.includes(group.name)) continue
            groups.push({ name: group.name, duties: await group.runNow(term) })
          }
          return { now, groups }
        },
      }),
    ),
  ]
}
