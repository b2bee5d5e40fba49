import { z } from 'zod'
import type { Discovery, LeadingRole } from '../discovery/index.ts'
import { jsonAnswer, open, Reply, type Route, route, state, textAnswer } from '../http/index.ts'
import type { DutyGroup } from './duty-group.ts'

/** What the endpoints about the leader of a role need. */
export interface LeaderView {
  readonly discovery: Pick<Discovery, 'leader'>
  readonly dutyGroups: readonly Pick<DutyGroup, 'status'>[]
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

/** Returns the endpoints about the leader of a role and its duties, below `base`. */
export function leaderAndDutyRoutes(
  role: LeadingRole,
  base: string,
  { discovery, dutyGroups, term }: LeaderView,
): Route[] {
  return [
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
    route({
      method: 'GET',
      path: `${base}/duties`,
      access: state('READ'),
      summary: `Get statistics about the ${role} duty runs`,
      answers: [jsonAnswer(z.object({ dutyGroups: z.array(dutyGroupShape) }))],
      handle: () => ({ dutyGroups: dutyGroups.map((group) => group.status()) }),
    }),
  ]
}
