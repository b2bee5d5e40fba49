import {
  assertRunnableBy,
  type CompactionCandidate,
  type CompactionPlan,
  compactionPreviewSchema,
  describeCandidate,
  describeProgress,
  describeSkipped,
  readCompactionPreview,
  type SkippedInterval,
} from '@svc/domain/compaction'
import { readLater } from '@svc/domain/validation'
import {
  type Access,
  JsonPieces,
  jsonAnswer,
  jsonBody,
  jsonList,
  jsonObjectOf,
  jsonOf,
  type Route,
  route,
} from '../http/index.ts'
import { createSlices } from '../slices/index.ts'
import type { CompactionPlanner } from './planner.ts'
import { compactionPreviewShape } from './response-shapes.ts'

/** Limits of the body of a preview: enough for a list of segments written by a user. */
export const compactionPreviewLimits = { limitBytes: 32 * 1024 * 1024, maxValues: 3_000_000 }

// Number of members of the response that are formatted at a time.
const pageLength = 200

/** The preview endpoint. It shows only the datasources that the caller may see. */
export function compactionPreviewRoute(path: string, access: Access, planner: CompactionPlanner): Route {
  const slices = createSlices()

  /** Returns what would be compacted, and in which order. Read-only. */
  async function preview(json: unknown, signal: AbortSignal): Promise<CompactionPlan> {
    const { cluster, configs, segments } = await slices.run(() => readCompactionPreview(json), signal)
    const live = await planner.plan(undefined, { cluster, configs, segments })
    // The given configs may be for a different engine than the cluster's.
    for (const config of configs ?? []) assertRunnableBy(config, live.cluster)
    return live.plan
  }

  return route({
    method: 'POST',
    path,
    access,
    summary: 'Preview what would be compacted and in which order, without changing anything',
    body: jsonBody(readLater(compactionPreviewSchema), compactionPreviewLimits),
    answers: [jsonAnswer(compactionPreviewShape)],
    handle: async ({ body, caller, signal }) =>
      new JsonPieces(piecesOf(await preview(body, signal), caller.sees)),
  })
}

/** Generates the plan as JSON, filtered to the datasources that the caller may see. */
function piecesOf(
  { candidates, skipped, progress }: CompactionPlan,
  sees: (dataSource: string) => boolean,
): AsyncGenerator<string> {
  const seen = <Item extends CompactionCandidate | SkippedInterval>(items: readonly Item[]) =>
    items.filter(({ dataSource }) => sees(dataSource))
  const stats = describeProgress(new Map([...progress].filter(([dataSource]) => sees(dataSource))))
  return jsonObjectOf([
    ['candidates', jsonList(pagesOf(seen(candidates), describeCandidate))],
    ['stats', jsonOf(stats)],
    ['skipped', jsonList(pagesOf(seen(skipped), describeSkipped))],
  ])
}

function* pagesOf<Item>(items: readonly Item[], describe: (item: Item) => object): Generator<string[]> {
  for (let from = 0; from < items.length; from += pageLength)
    yield items.slice(from, from + pageLength).map((item) => JSON.stringify(describe(item)))
}
