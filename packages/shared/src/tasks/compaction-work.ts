import {
  partitionsOf,
  planRewrite,
  type RewritePlan,
  rewriteVirtually,
  stateAfter,
} from '@svc/domain/compaction'
import { conflict, notFound } from '@svc/domain/failure'
import { planPublication } from '@svc/domain/publishing'
import { type SegmentPayload, virtualLoadSpec } from '@svc/domain/segment'
import { formatInterval, sameInterval } from '@svc/domain/time'
import type { RewriteOrder } from '../compaction/rewriting/index.ts'
import type { WrittenSegment } from '../ingestion/index.ts'
import {
  copySegments,
  type Database,
  finishAttempt,
  loadClusterCompactionConfig,
  loadOverlapping,
  loadPartitionFloors,
  loadPayloads,
  lockDatasource,
  type Queries,
  type StoredSegment,
  saveCompactionState,
} from '../postgres/index.ts'
import type { CompactSpec } from './parse-compact-spec.ts'
import { newRows, type PublishedState, type PublishingAttempt } from './published-rows.ts'
import type { Written, WrittenColumns } from './task-type.ts'

interface Plan extends RewritePlan<StoredSegment> {
  /** All segments that overlap the interval, including unused ones. */
  readonly existing: readonly StoredSegment[]
}

async function planOf(queries: Queries, spec: CompactSpec): Promise<Plan> {
  const { dataSource, interval, segmentIds, config } = spec
  const existing = await loadOverlapping(queries, dataSource, interval)
  const used = existing.filter((segment) => segment.used)
  const granularity = config.granularitySpec?.segmentGranularity ?? null
  const plan = planRewrite(used, interval, granularity, segmentIds && new Set(segmentIds))
  return { ...plan, existing }
}

/** The work of a compact task, and the segments on which the decision is based. */
export interface PreparedCompaction {
  readonly work:
    | { readonly kind: 'compact'; readonly order: RewriteOrder }
    /** For virtual segments, the result is known immediately. */
    | { readonly kind: 'virtual'; readonly segments: readonly WrittenSegment[] }
  readonly visibleIds: readonly string[]
}

/** Decides the work of a compact task. If its interval has no segments, there are no buckets. */
export async function prepareCompaction(database: Database, spec: CompactSpec): Promise<PreparedCompaction> {
  const { buckets, visibleIds } = await planOf(database, spec)
  const segments = new Map<string, StoredSegment>()
  for (const { rewritten, kept } of buckets) {
    for (const { segment } of rewritten) segments.set(segment.id, segment)
    for (const segment of kept) segments.set(segment.id, segment)
  }
  const newestFirst = [...segments.values()].sort((a, b) => b.interval.start - a.interval.start)
  const payloads = await loadPayloads(database, [...segments.keys()])
  const isVirtual = newestFirst.map(({ id }) => payloads.get(id)?.loadSpec.type === 'virtual')
  if (isVirtual.includes(true)) {
    const other = newestFirst[isVirtual.indexOf(false)]
    if (other !== undefined) {
      throw conflict(
        `Datasource [${spec.dataSource}] has both virtual segments and regular segments such as [${other.id}]; they cannot be compacted together`,
      )
    }
    const names = [...payloads.values()]
    const columns = {
      dimensions: allNames(names.map(({ dimensions }) => dimensions)),
      metrics: allNames(names.map(({ metrics }) => metrics)),
    }
    const { path, checksum } = virtualLoadSpec
    const rewritten = rewriteVirtually(buckets, partitionsOf(spec.config))
    return {
      work: {
        kind: 'virtual',
        segments: rewritten.map((one) => ({ ...one, ...columns, path, checksum })),
      },
      visibleIds,
    }
  }
  const order: RewriteOrder = {
    config: spec.config,
    sources: newestFirst.map(({ id }) => sourceOf(id, payloads.get(id))),
    buckets: buckets.map(({ interval, rewritten, kept }) => ({
      interval,
      rewritten: rewritten.map(({ segment, visible }) => ({
        id: segment.id,
        times: isComplete(segment, visible) ? undefined : visible,
      })),
      kept: kept.map(({ id }) => id),
    })),
  }
  return { work: { kind: 'compact', order }, visibleIds }
}

const allNames = (lists: readonly string[]): string[] => [
  ...new Set(lists.flatMap((names) => names.split(',').filter(Boolean))),
]

const isComplete = (segment: StoredSegment, visible: readonly StoredSegment['interval'][]): boolean =>
  visible.length === 1 && visible.every((interval) => sameInterval(interval, segment.interval))

function sourceOf(id: string, payload: SegmentPayload | undefined) {
  if (payload === undefined) throw notFound(`Segment [${id}] is no longer in the metadata store`)
  const { loadSpec, size, totalRows, dimensions, metrics } = payload
  return { id, loadSpec, sizeBytes: size, totalRows, dimensions, metrics }
}

/**
 * Publishes the segments of a compact task and finishes it, in one transaction. The new version overshadows the
 * segments that the task read. If these are no longer the visible ones, nothing is published: throws a conflict
 * Failure.
 */
export async function publishCompaction(
  database: Database,
  { taskId, attempt, progress, storageType }: PublishingAttempt,
  spec: CompactSpec,
  { visibleIds, work }: PreparedCompaction,
  { segments, columns }: Required<Written>,
  now: number,
): Promise<PublishedState> {
  const { dataSource, interval, config, context } = spec
  return await database.transaction(async (transaction): Promise<PublishedState> => {
    await lockDatasource(transaction, dataSource)
    // A task that preempts the interval ends this attempt in the same transaction.
    const end = { state: 'SUCCESS', errorMessage: null, progress } as const
    if (!(await finishAttempt(transaction, taskId, attempt, end))) return 'notTheAttempt'
    if (segments.length === 0) return 'published'
    const present = await planOf(transaction, spec)
    if (present.visibleIds.join('\n') !== visibleIds.join('\n')) {
      throw conflict(
        `The segments of datasource [${dataSource}] in [${formatInterval(interval)}] have changed since the task read them`,
      )
    }
    const plan = planPublication({
      dataSource,
      chunks: segments.map((written) => ({ ...written, written })),
      existing: present.existing,
      floors: await loadPartitionFloors(transaction, dataSource, interval),
      mode: { kind: 'replace', dropExisting: [] },
      now,
    })
    const state = context.storeCompactionState === false ? undefined : stateAfter(config, describe(columns))
    const stored = state && (await storeState(transaction, dataSource, state))
    const rows = await newRows(transaction, plan.added, {
      loadType: work.kind === 'virtual' ? 'virtual' : storageType,
      ...(stored === undefined ? {} : { inPayload: stored.inPayload, compactionState: stored.id }),
    })
    await copySegments(transaction, rows, taskId, now)
    return 'published'
  })
}

function describe({ dimensions, metrics }: WrittenColumns) {
  const described = dimensions.map(({ name, type }) => ({
    type,
    name,
    multiValueHandling: 'SORTED_ARRAY',
    createBitmapIndex: type === 'string',
  }))
  return { dimensionsSpec: { dimensions: described }, metricsSpec: metrics }
}

/** Stores a compaction state once, under its fingerprint. Segments carry the complete state unless the supervisor config
 * turns that off. */
async function storeState(transaction: Queries, dataSource: string, state: object) {
  const { id, fingerprint } = await saveCompactionState(transaction, { dataSource, state })
  const { useSupervisors, storeCompactionStatePerSegment } = await loadClusterCompactionConfig(transaction)
  const isComplete = !useSupervisors || storeCompactionStatePerSegment
  return {
    id,
    inPayload: {
      ...(isComplete ? { lastCompactionState: state } : {}),
      indexingStateFingerprint: fingerprint,
    },
  }
}
