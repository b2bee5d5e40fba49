import { defaultRule, type Rule } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import { parseInstant } from '../time/index.ts'
import {
  type AnsweredSummary,
  decidePreview,
  formatSummary,
  groupGivenSegments,
  type PreviewResult,
  type PreviewRow,
  parsePreviewRequest,
  rowsInPlaces,
} from './index.ts'

/** Current time in tests. */
export const testNow = parseInstant('2026-06-15')

/** Returns the preview of a request that specifies segments and servers. */
export function previewGiven(json: unknown): {
  readonly result: PreviewResult
  readonly rows: readonly PreviewRow[]
  readonly summary: AnsweredSummary
} {
  const request = finish(parsePreviewRequest(json, testNow))
  const groups = finish(groupGivenSegments(request.segments ?? []))
  const rulesOf = (dataSource: string): readonly Rule[] =>
    Array.isArray(request.rules)
      ? request.rules
      : ((request.rules as ReadonlyMap<string, readonly Rule[]>).get(dataSource) ?? [])
  const result = finish(
    decidePreview({
      now: request.now ?? testNow,
      datasources: groups.map(({ segments }) => ({
        segments,
        columns: undefined,
        own: rulesOf(segments.dataSource),
        defaults: request.defaultRules ?? [defaultRule],
      })),
      servers: request.servers ?? [],
      serversBefore: [],
      concerned: new Set(groups.map(({ segments }) => segments.dataSource)),
      knownDatasources: [],
      defaultsChange: request.defaultRules !== undefined,
      horizon: request.horizon,
    }),
  )
  return {
    result,
    rows: finish(
      rowsInPlaces(
        result,
        groups.map(({ places }) => places),
      ),
    ),
    summary: formatSummary(result, true),
  }
}
