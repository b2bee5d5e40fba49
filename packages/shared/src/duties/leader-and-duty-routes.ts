import { omittable } from '@svc/domain/validation'
import * as z from 'zod'
import type { Discovery, LeadingRole } from '../discovery/index.ts'
import { jsonAnswer, open, Reply, type Route, route, state, textAnswer } from '../http/index.ts'
import { positiveCount } from '../wire/index.ts'
import { type DutyGroup, rememberedRuns } from './duty-group.ts'

/** What the endpoints about the leader of a role need. */
export interface LeaderView {
  readonly discovery: Pick<Discovery, 'leader'>
  readonly dutyGroups: readonly Pick<DutyGroup, 'name' | 'status' | 'history'>[]
  /** Returns the fencing number while this server is the leader, or undefined. */
  term(): number | undefined
}

const leaderShape = z.object({ leader: z.boolean() })
const dutyGroupShape = z
  .object({
    name: z.string(),
    period: z.string(),
    dutyNames: z.array(z.string()),
    lastRunStart: z.string().nullable(),
    lastRunEnd: z.string().nullable(),
    avgRuntimeMillis: z.int(),
    lastRunMillis: z.int(),
    runs: z.int(),
    failures: z.record(z.string(), z.int()),
  })
  .meta({ title: 'DutyGroup' })

const requestsShape = z
  .object({
    decided: z.int(),
    sent: z.int(),
    retried: z.int().describe('Requests that were sent again after they failed on a server'),
    answered: z.int().describe('Requests that servers have completed so far'),
    failed: z.int(),
  })
  .describe('Requests that the run sent to other servers, and their outcomes so far')
const runShape = z.object({
  number: z.int().describe('1 for the first run since the server started'),
  startedAt: z.string().describe('Real time, even if the cluster has a simulated clock'),
  durationMs: z.int(),
  duties: z.array(
    z.object({
      duty: z.string(),
      durationMs: z.int(),
      did: z.looseObject({}).nullable().describe('What the run did; null if there was nothing to do'),
      error: z.string().nullable(),
      requests: requestsShape.optional(),
    }),
  ),
})
const groupRunsShape = z
  .object({
    name: z.string(),
    totalRuns: z.int().describe('Number of runs since the server started'),
    runs: z.array(runShape).describe('The most recent runs, newest first'),
    nonIdleRuns: z
      .array(runShape)
      .describe(
        'The most recent runs that did something or failed, newest first, regardless of how many idle runs followed',
      ),
    lastFailures: z
      .array(z.object({ duty: z.string(), startedAt: z.string(), error: z.string() }))
      .describe('The last failure of each duty that has failed, newest first'),
  })
  .meta({ title: 'DutyGroupRuns' })

const defaultRuns = 20
const runsQuery = { count: omittable(positiveCount(rememberedRuns), defaultRuns) }

/** Returns the endpoints about the leader of a role and its duties, below `base`. */
export function leaderAndDutyRoutes(
  role: LeadingRole,
  base: string,
  { discovery, dutyGroups, term }: LeaderView,
): Route[] {
  return [
    ...dutyRoutes(role, base, dutyGroups),
    route({
      method: 'GET',
      path: `${base}/leader`,
      access: state('READ'),
      summary: `Get the address of the ${role} leader`,
      answers: [textAnswer('text/plain')],
      handle: () => new Reply(200, discovery.leader(role).baseUrl, { 'Content-Type': 'text/plain' }),
    }),
    route({
      method: 'GET',
      path: `${base}/isLeader`,
      access: open,
      summary: `Check whether this ${role} is the leader`,
      answers: [
        jsonAnswer(leaderShape),
        jsonAnswer(leaderShape, { status: 404, description: `This ${role} is not the leader` }),
      ],
      handle: () => {
        const leader = term() !== undefined
        return new Reply(leader ? 200 : 404, { leader })
      },
    }),
  ]
}

/** The endpoints about the duties of the role. */
const dutyRoutes = (role: LeadingRole, base: string, dutyGroups: LeaderView['dutyGroups']): Route[] => [
  route({
    method: 'GET',
    path: `${base}/duties`,
    access: state('READ'),
    summary: `Get statistics about the ${role} duty runs`,
    answers: [jsonAnswer(z.object({ dutyGroups: z.array(dutyGroupShape) }))],
    handle: () => ({ dutyGroups: dutyGroups.map((group) => group.status()) }),
  }),
  route({
    method: 'GET',
    path: `${base}/duties/runs`,
    access: state('READ'),
    summary: `List the most recent ${role} duty runs of each group, newest first: what they did, how long they took, and the outcomes of their requests`,
    query: runsQuery,
    answers: [jsonAnswer(z.object({ dutyGroups: z.array(groupRunsShape) }))],
    handle: ({ query: { count } }) => ({
      dutyGroups: dutyGroups.map((group) => ({ name: group.name, ...group.history(count) })),
    }),
  }),
]
