import {
  type CompactionPreviewRequest,
  compactionPreviewSchema,
  type DescribedPlan,
  describePlan,
  parseCompactionPreview,
} from '@svc/domain/compaction'
import { assertRunnableBy } from '@svc/domain/compaction-config'
import type { CompactionPlanner } from '../compaction-planning/index.ts'
import { type Access, jsonAnswer, jsonBody, type Route, route } from '../http/index.ts'
import { compactionPreviewShape } from '../shapes/index.ts'
import { shapedParser, shapeOf } from '../wire/index.ts'

// Segments of a datasource as a user may have written them down.
const requestLimitBytes = 32 * 1024 * 1024

const requestShape = shapeOf(compactionPreviewSchema())

/** What would be compacted, in which order. Reads only. */
async function describePreview(
  planner: CompactionPlanner,
  { cluster, configs, segments }: CompactionPreviewRequest,
): Promise<DescribedPlan> {
  const live = await planner.plan(undefined, { cluster, configs, segments })
  // Configurations that were given may be for another engine than the cluster's.
  for (const config of configs ?? []) assertRunnableBy(config, live.cluster)
  return describePlan(live.plan)
}

/** A preview without what is about other datasources. */
function whatIsSeen(
  { candidates, stats, skipped }: DescribedPlan,
  sees: (dataSource: string) => boolean,
): DescribedPlan {
  return {
    candidates: candidates.filter(({ dataSource }) => sees(dataSource)),
    stats: Object.fromEntries(Object.entries(stats).filter(([dataSource]) => sees(dataSource))),
    skipped: skipped.filter(({ dataSource }) => sees(dataSource)),
  }
}

/** The endpoint of previews; it shows the datasources that its caller sees. */
export function compactionPreviewRoute(path: string, access: Access, planner: CompactionPlanner): Route {
  return route({
    method: 'POST',
    path,
    access,
    summary: 'What would be compacted and in which order; nothing is changed',
    body: jsonBody(shapedParser(requestShape, parseCompactionPreview), { limitBytes: requestLimitBytes }),
    answers: [jsonAnswer(compactionPreviewShape)],
    handle: async ({ body, caller }) => whatIsSeen(await describePreview(planner, body), caller.sees),
  })
}
