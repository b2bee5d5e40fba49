import { Failure, forbidden, invalidInput } from '@svc/domain/failure'
import {
  type DecidedRequest,
  decideRequest,
  formatDecided,
  isForAll,
  type PreviewedCluster,
  type PreviewedDatasource,
  type PreviewServer,
  parsePreviewRequest,
} from '@svc/domain/preview'
import { parseRules, type Rule } from '@svc/domain/rules'
import type { Segment } from '@svc/domain/segment'
import { readSegmentRow } from '@svc/domain/snapshot'
import { finish } from '@svc/domain/steps'
import type { ClusterAccess, ClusterClient } from '../client/index.ts'
import { maxUnusedSegments } from '../declared-state/index.ts'
import { openHttp, type SnapshotSource } from '../snapshot/index.ts'
import { countOf } from '../terminal/index.ts'
import type { AnsweredPreview, PreviewAnswer } from './preview-text.ts'

/** Previews rules: lists by datasource, and the cluster defaults. */
export type PreviewRules = (body: Readonly<Record<string, unknown>>) => Promise<PreviewAnswer>

/** What an answer includes. */
export interface PreviewPage {
  /** Maximum number of buckets that show bytes over time. */
  readonly buckets: number
  /** Whether it includes the first segments. */
  readonly full?: boolean | undefined
}

const maxSegments = 10_000

/** Previews rules at the coordinator of svc; for Druid, which has no previews, here, with its inventory. */
export function previewsOf(client: ClusterClient, access: ClusterAccess, page: PreviewPage): PreviewRules {
  return client.interfaceName === 'druid' ? previewsOfDruid(access, page) : previewsOfSvc(client, page)
}

/** Previews rules at the coordinator of svc. */
export function previewsOfSvc(client: ClusterClient, page: PreviewPage): PreviewRules {
  const query = `buckets=${page.buckets}${page.full ? `&full&limit=${maxSegments}` : ''}`
  return async (body) =>
    (await client.send('POST', `/svc/coordinator/v1/rules/simulate?${query}`, body)) as PreviewAnswer
}

/** What a preview needs to know about a Druid cluster. */
interface ReadInventory {
  readonly cluster: PreviewedCluster
  readonly warnings: AnsweredPreview['warnings']
  /** Whether it leaves out datasources that the user may not read. */
  readonly isPartial: boolean
  /** The IDs of the segments of each datasource, in the order of the previewed cluster. */
  readonly idsOf: ReadonlyMap<string, readonly string[]>
}

/** Previews rules of Druid here, with the inventory of the cluster. */
export function previewsOfDruid(
  { routerUrl, credentials, trusted }: ClusterAccess,
  { buckets, full = false }: PreviewPage,
): PreviewRules {
  let reading: Promise<ReadInventory> | undefined
  return async (body) => {
    if (body.markUsedSince !== undefined)
      throw invalidInput('Druid does not store which rules marked segments as unused: omit --mark-used')
    reading ??= openHttp({ url: routerUrl, credentials, trusted }).then(readInventory)
    const { cluster, warnings, isPartial, idsOf } = await reading
    const reader = { canRead: () => true, canReadTiers: true }
    const request = finish(parsePreviewRequest(body, cluster.now))
    const decided = finish(decideRequest(request, cluster, reader, { buckets }))
    const answer = finish(formatDecided(decided, { full, offset: 0, limit: full ? maxSegments : 0 }))
    // As an answer of svc, which has no infinite numbers.
    const preview = JSON.parse(JSON.stringify(answer)) as AnsweredPreview
    return {
      ...preview,
      warnings: [...preview.warnings, ...(isPartial ? [partialWarning(isForAll(request))] : []), ...warnings],
      ...unusedSegmentsIn(decided, idsOf),
    }
  }
}

/** Warns that datasources are left out, which need space even if the change does not affect them. */
const partialWarning = (mayBeAffected: boolean): AnsweredPreview['warnings'][number] => ({
  type: mayBeAffected ? 'incompletePreview' : 'incompleteSpace',
  message:
    'The preview leaves out datasources that this user may not read. They also need space, so more replicas may not fit than the preview shows',
})

/** The IDs of the segments that rules mark as unused; nothing if there are too many for a plan. */
function unusedSegmentsIn(
  { result: { outcome, concerned, totalEffects } }: DecidedRequest,
  idsOf: ReadInventory['idsOf'],
): Pick<AnsweredPreview, 'unusedSegments'> {
  if (totalEffects.of('unused').segments > maxUnusedSegments) return {}
  const unused = outcome.datasources
    .filter(({ columns }) => concerned.has(columns.dataSource))
    .map(({ columns: { dataSource, indexes }, stretches, targetOf }) => {
      const ids = idsOf.get(dataSource) ?? []
      const dropped = stretches.filter(({ rule }) => targetOf(rule).action === 'drop')
      return [
        dataSource,
        dropped.flatMap(({ from, to }) => Array.from(indexes.subarray(from, to), (index) => ids[index]!)),
      ] as const
    })
  return { unusedSegments: Object.fromEntries(unused.filter(([, ids]) => ids.length > 0)) }
}

async function readInventory(source: SnapshotSource): Promise<ReadInventory> {
  const [listed, rules, config] = await Promise.all(
    (['servers', 'rules', 'config'] as const).map((name) => source.document(name)),
  )
  const decommissioning = new Set(
    (config as { decommissioningNodes?: string[] } | undefined)?.decommissioningNodes ?? [],
  )
  const servers = (listed as ListedServer[])
    .filter(({ type }) => type === 'historical' || type === 'broker')
    .map(
      ({ host, type, tier, maxSize }): PreviewServer => ({
        name: host,
        type: type as PreviewServer['type'],
        tier,
        maxSizeBytes: maxSize,
        decommissioning: decommissioning.has(host),
      }),
    )
  const unreadable = { segments: 0, lists: [] as string[] }
  const read = readRules(rules as Record<string, unknown>, unreadable.lists)
  const segments = await readSegments(source, unreadable)
  const serversOf = await readPlacement(source, servers)
  const counts = await source.restrictedPart('counts')
  const isPartial =
    'value' in counts &&
    (counts.value as { readonly mayReadEveryDatasource?: boolean }).mayReadEveryDatasource === false
  const groups = [...Map.groupBy(segments, ({ segment }) => segment.dataSource)]
  const datasources = groups.map(([name, own]) => datasourceOf(name, own, serversOf))
  const idsOf = new Map(groups.map(([name, own]) => [name, own.map(({ segment }) => segment.id)]))
  const warnings = [
    ...(unreadable.segments > 0
      ? [`The preview leaves out ${countOf(unreadable.segments, 'segment')} that svc cannot read`]
      : []),
    ...unreadable.lists.map((name) => `The preview leaves out the rules of [${name}], which svc cannot read`),
  ].map((message) => ({ type: 'unreadableValues', message }))
  return { cluster: { now: Date.now(), datasources, servers, rules: read }, warnings, isPartial, idsOf }
}

interface ListedServer {
  readonly host: string
  readonly type: string
  readonly tier: string
  readonly maxSize: number
}

function readRules(
  lists: Record<string, unknown>,
  unreadable: string[],
): ReadonlyMap<string, readonly Rule[]> {
  const rules = new Map<string, readonly Rule[]>()
  for (const [name, list] of Object.entries(lists)) {
    try {
      rules.set(name, parseRules(list))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      unreadable.push(name)
    }
  }
  return rules
}

interface ReadSegment {
  readonly segment: Segment
  readonly overshadowed: boolean
}

async function readSegments(
  source: SnapshotSource,
  unreadable: { segments: number },
): Promise<ReadSegment[]> {
  const segments: ReadSegment[] = []
  for await (const row of source.segments()) {
    const read = row.problem === undefined ? readSegmentRow(row.value) : { problem: row.problem }
    if ('problem' in read) unreadable.segments += 1
    else segments.push({ segment: read.segment, overshadowed: read.overshadowed ?? false })
  }
  return segments
}

/** The indexes of the servers that serve each segment, by its ID. */
async function readPlacement(
  source: SnapshotSource,
  servers: readonly PreviewServer[],
): Promise<ReadonlyMap<string, readonly number[]>> {
  const indexes = new Map(servers.map(({ name }, index) => [name, index]))
  const placement = await source.placement(
    servers.filter(({ type }) => type === 'historical').map(({ name }) => name),
  )
  if ('unseen' in placement)
    throw forbidden(
      `Failed to preview the rules, because svc could not read which segments the servers have: ${placement.unseen}`,
    )
  const found = new Map<string, number[]>()
  for await (const { server, segments } of placement.value) {
    for (const id of segments) {
      const list = found.get(id)
      if (list === undefined) found.set(id, [indexes.get(server)!])
      else list.push(indexes.get(server)!)
    }
  }
  return found
}

function datasourceOf(
  dataSource: string,
  own: readonly ReadSegment[],
  serversOf: ReadonlyMap<string, readonly number[]>,
): PreviewedDatasource {
  const at = (index: number): Segment => own[index]!.segment
  return {
    segments: {
      dataSource,
      count: own.length,
      start: (index) => at(index).interval.start,
      end: (index) => at(index).interval.end,
      sizeBytes: (index) => at(index).sizeBytes,
      version: (index) => at(index).version,
      partitionNum: (index) => at(index).partitionNum,
      isOvershadowed: (index) => own[index]!.overshadowed,
      forEachCopy: (index, visit) => {
        for (const server of serversOf.get(at(index).id) ?? []) visit(server)
      },
    },
    columns: undefined,
    keep: () => undefined,
  }
}
