import { defaultRule, parseRules, type Rule } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import { dayMs, parseInstant } from '../time/index.ts'
import {
  type AnsweredSummary,
  decidePreview,
  formatSummary,
  groupGivenSegments,
  type PreviewedCluster,
  type PreviewResult,
  type PreviewRow,
  type PreviewServer,
  parsePreviewRequest,
  rowsInPlaces,
} from './index.ts'

/** Current time in tests. */
export const testNow = parseInstant('2026-06-15')

/** Returns the preview of a request that specifies segments and servers. The servers in `leaving` are decommissioning. */
export function previewGiven(
  json: unknown,
  leaving: readonly string[] = [],
): {
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
      servers: (request.servers ?? []).map((server) => ({
        ...server,
        decommissioning: leaving.includes(server.name),
      })),
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

/** A server of 1,000 bytes, unless stated otherwise. */
export const testServer = (name: string, tier: string, maxSizeBytes = 1000): PreviewServer => ({
  name,
  type: 'historical',
  tier,
  maxSizeBytes,
  decommissioning: false,
})

/** A cluster with daily segments of 10 bytes, the newest first, each with a list of the servers that serve it. */
export const clusterOfDays = (
  servers: readonly PreviewServer[],
  rules: readonly object[],
  servedBy: readonly (readonly number[])[],
): PreviewedCluster => ({
  now: testNow,
  servers,
  rules: new Map([['_default', parseRules(rules)]]),
  datasources: [
    {
      segments: {
        dataSource: 'wiki',
        count: servedBy.length,
        start: (index) => testNow - (index + 1) * dayMs,
        end: (index) => testNow - index * dayMs,
        sizeBytes: () => 10,
        version: () => 'v1',
        partitionNum: () => 0,
        isOvershadowed: () => false,
        forEachCopy: (index, visit) => {
          for (const place of servedBy[index]!) visit(place)
        },
      },
      columns: undefined,
      keep: () => undefined,
    },
  ],
})
