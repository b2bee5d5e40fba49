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
import { jsonList, jsonObjectOf, jsonOf } from '@svc/domain/json'
import { readLater } from '@svc/domain/validation'
import { type Access, JsonPieces, jsonAnswer, jsonBody, type Route, route } from '../http/index.ts'
import { type Caller, permittedItems } from '../security/index.ts'
import { createSlices } from '../slices/index.ts'
import { presence } from '../wire/index.ts'
import type { CompactionPlanner } from './planner.ts'
import { compactionPreviewShape } from './response-shapes.ts'

/** Limits of the body of a preview: enough for a list of segments written by a user. */
export const compactionPreviewLimits = { limitBytes: 32 * 1024 * 1024, maxValues: 3_000_000 }

// Number of members of the response that are formatted at a time.
const pageLength = 200

// Number of candidates in a brief response.
const maxBriefCandidates = 1000
const query = { brief: presence }

/** The preview endpoint. It shows only the datasources that the caller may see. */
export function compactionPreviewRoute(path: string, access: Access, planner: CompactionPlanner): Route {
  const slices = createSlices()

  /** Returns what would be compacted, and in which order. Read-only. */
  async function preview(json: unknown, signal: AbortSignal): Promise<CompactionPlan> {
    const given = await slices.run(() => readCompactionPreview(json), signal)
    const live = await planner.plan(undefined, given)
    // The given configs may be for a different engine than the cluster's.
    for (const config of given.configs ?? []) assertRunnableBy(config, live.cluster)
    return live.plan
  }

  return route({
    method: 'POST',
    path,
    access,
    summary: `Preview what would be compacted and in which order, without changing anything. \`brief\` returns only the first ${maxBriefCandidates} candidates, without their segments and without the skipped intervals`,
    query,
    body: jsonBody(readLater(compactionPreviewSchema), compactionPreviewLimits),
    answers: [jsonAnswer(compactionPreviewShape)],
    handle: async ({ body, query: { brief }, caller, signal }) =>
      new JsonPieces(await piecesOf(await preview(body, signal), caller, brief)),
  })
}

/** Returns the plan as JSON, filtered to the datasources that the caller may see. */
async function piecesOf(
  { candidates, skipped, progress }: CompactionPlan,
  caller: Caller,
  isBrief: boolean,
): Promise<AsyncGenerator<string>> {
  const seen = <Item extends CompactionCandidate | SkippedInterval>(items: readonly Item[]) =>
    permittedItems(caller, items, ({ dataSource }) => dataSource, 'SEE')
  const seenCandidates = await seen(candidates)
  const eligible = seenCandidates.filter((one) => one.eligible)
  const seenProgress = await permittedItems(caller, progress, ([dataSource]) => dataSource, 'SEE')
  return jsonObjectOf([
    [
      'candidates',
      isBrief
        ? jsonList(pagesOf(seenCandidates.slice(0, maxBriefCandidates), describeBriefly))
        : jsonList(pagesOf(seenCandidates, describeCandidate)),
    ],
    [
      'eligible',
      jsonOf({
        intervals: eligible.length,
        bytes: eligible.reduce((sum, { figures }) => sum + figures.bytes, 0),
      }),
    ],
    ['stats', jsonOf(describeProgress(new Map(seenProgress)))],
    ['skipped', jsonList(pagesOf(isBrief ? [] : await seen(skipped), describeSkipped))],
  ])
}

function describeBriefly(candidate: CompactionCandidate): object {
  const { segments: _, ...brief } = describeCandidate({ ...candidate, segments: [] })
  return brief
}

function* pagesOf<Item>(items: readonly Item[], describe: (item: Item) => object): Generator<string[]> {
  for (let from = 0; from < items.length; from += pageLength)
    yield items.slice(from, from + pageLength).map((item) => JSON.stringify(describe(item)))
}
