import { authenticated, jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { loadClusterId } from '@svc/shared/postgres'
import * as z from 'zod'
import type { ClusterStateTracker } from '../cluster-state/index.ts'
import type { ClusterView } from '../cluster-view.ts'
import { atLeader } from '../leadership/index.ts'

const clusterStateShape = z
  .object({
    known: z.boolean().describe('Whether the leader has a report from every server'),
    settled: z
      .boolean()
      .describe(
        'Whether the leader has a report from every server, all load queues are empty, and the last complete duty run changed nothing',
      ),
    paused: z.boolean().describe('Whether coordination is paused, so that nothing is requested from servers'),
    reasons: z.array(z.string()).describe('Reasons why `known` or `settled` is false'),
    shortages: z
      .array(z.string())
      .describe(
        'Replicas that rules require but the servers cannot load, as found by the last duty run. A settled cluster can have such shortages',
      ),
    scheduled: z
      .array(z.string())
      .describe('What the cluster will do at a later, known time. A settled cluster can have such plans'),
  })
  .meta({ title: 'ClusterState' })

/** Returns the endpoint that shows whether the leader knows the cluster, and whether the cluster is settled. */
export function clusterStateRoute(
  { leadership, context }: Pick<ClusterView, 'leadership' | 'context'>,
  clusterState: Pick<ClusterStateTracker, 'current'>,
): Route {
  return atLeader(
    leadership,
    context,
    route({
      method: 'GET',
      path: '/svc/coordinator/v1/clusterState',
      access: state('READ'),
      summary: 'Check whether the leader has a report from every server and whether the cluster is settled',
      answers: [jsonAnswer(clusterStateShape)],
      handle: async ({ caller }) => await (await clusterState.current()).shownTo(caller),
    }),
  )
}

/** Returns the endpoint for the ID of the cluster. */
export const clusterIdRoute = ({ context: { database } }: Pick<ClusterView, 'context'>): Route =>
  route({
    method: 'GET',
    path: '/svc/coordinator/v1/clusterId',
    access: authenticated,
    summary: 'Get the ID of the cluster, which is created with the metadata store and never changes',
    answers: [jsonAnswer(z.object({ id: z.string() }))],
    handle: async () => ({ id: await loadClusterId(database) }),
  })
