import {
  type DescribedPlan,
  describePlan,
  parseSimulation,
  type SimulationRequest,
} from '@svc/domain/compaction'
import { assertRunnableBy } from '@svc/domain/compaction-config'
import { type Access, jsonBody, type Route, route } from '../http/index.ts'
import type { CompactionPlanner } from './planner.ts'

// Segments of a datasource as a user may have written them down.
const simulationLimitBytes = 32 * 1024 * 1024

/** What would be compacted, in which order. Reads only. */
export async function describeSimulation(
  planner: CompactionPlanner,
  { cluster, configs, segments }: SimulationRequest,
): Promise<DescribedPlan> {
  const live = await planner.plan(undefined, { cluster, configs, segments })
  // Configurations that were given may be for another engine than the cluster's.
  for (const config of configs ?? []) assertRunnableBy(config, live.cluster)
  return describePlan(live.plan)
}

/** The endpoint of previews. */
export function compactionSimulationRoute(path: string, access: Access, planner: CompactionPlanner): Route {
  return route({
    method: 'POST',
    path,
    access,
    summary: 'What would be compacted and in which order; nothing is changed',
    body: jsonBody((json) => parseSimulation(json), { limitBytes: simulationLimitBytes }),
    handle: ({ body }) => describeSimulation(planner, body),
  })
}
