import { formatRule } from '@svc/domain/rules'
import { payloadOf, virtualLoadSpec } from '@svc/domain/segment'
import { importAuthor, readSegmentRow, type SnapshotSegment } from '@svc/domain/snapshot'
import { coordinatorConfigName } from '@svc/shared/coordinator-dynamic-config'
import {
  type AuditEntry,
  changeClusterCompactionConfig,
  compactionSupervisorId,
  copyManySegments,
  copySegments,
  countUsedSegments,
  type Database,
  type InsertedSegment,
  markUnused,
  migrateSchema,
  type StoredCompactionState,
  saveCompactionConfig,
  saveCompactionState,
  saveCompactionSupervisor,
  saveConfig,
  saveRules,
} from '@svc/shared/postgres'
import {
  openFolder,
  type SegmentRow,
  type Snapshot,
  type SnapshotDocuments,
  type SnapshotSource,
  type StagedRestrictedParts,
} from '../snapshot/index.ts'
import { countOf } from '../terminal/index.ts'
import type { StoredImport } from './describe-import.ts'
import { placeSegments } from './place-segments.ts'
import { saveSecurity, securityOfHome } from './save-security.ts'

type Author = Pick<AuditEntry, 'author' | 'comment' | 'identity' | 'ip'>

/** A snapshot in a folder, and where it comes from. */
export interface StagedSnapshot {
  readonly snapshot: Snapshot
  readonly folder: string
  readonly from: string
}

/** How to report progress, and how to stop. */
export interface FillOptions {
  readonly signal: AbortSignal
  readonly onStep: (step: string) => void
}

/** Stores a snapshot in the empty store of a home, and writes its placement to a file. */
export async function fillStore(
  database: Database,
  { snapshot, folder, from }: StagedSnapshot,
  placementFile: string,
  { signal, onStep }: FillOptions,
): Promise<StoredImport> {
  const { documents, restrictedParts } = snapshot
  await migrateSchema(database)
  const now = Date.now()
  const author = { author: importAuthor, comment: `Imported from ${from}`, identity: '', ip: '' }
  await saveDocuments(database, documents, suspendedOf(restrictedParts), author, now)
  const security =
    restrictedParts && 'value' in restrictedParts.security
      ? securityOfHome(restrictedParts.security.value)
      : undefined
  if (security) await saveSecurity(database, security, author, now)
  onStep('Wrote rules and configuration')
  const source = openFolder(folder)
  await copyManySegments(database, virtualSegments(database, source, signal), now, (written) =>
    onStep(`Wrote ${written.toLocaleString('en-US')} of ${countOf(snapshot.segments, 'segment')}`),
  )
  const segments = await countUsedSegments(database)
  const served = await source.placement([])
  const placement =
    'value' in served ? await placeSegments(database, served.value, placementFile, signal) : undefined
  const unused = await source.unusedSegments()
  if ('value' in unused) await saveUnusedSegments(database, unused.value, now)
  return { snapshot, segments, placement, security }
}

/** Ids of the suspended supervisors. */
const suspendedOf = (restrictedParts: StagedRestrictedParts | undefined): ReadonlySet<string> =>
  new Set(
    restrictedParts && 'value' in restrictedParts.supervisors
      ? restrictedParts.supervisors.value.filter(({ suspended }) => suspended).map(({ id }) => id)
      : [],
  )

async function saveDocuments(
  database: Database,
  { rules, compaction, config }: SnapshotDocuments,
  suspended: ReadonlySet<string>,
  author: Author,
  now: number,
): Promise<void> {
  for (const [dataSource, list] of rules) {
    await saveRules(database, dataSource, JSON.stringify(list.map(formatRule)), author, now)
  }
  if (compaction) {
    const { cluster, configs } = compaction
    await changeClusterCompactionConfig(database, () => cluster, author, now)
    for (const one of configs) {
      const isSuspended = suspended.has(compactionSupervisorId(one.dataSource))
      if (cluster.useSupervisors)
        await saveCompactionSupervisor(database, { config: one, suspended: isSuspended }, author, now)
      else await saveCompactionConfig(database, one, author, now)
    }
  }
  if (config) {
    await saveConfig(database, coordinatorConfigName, JSON.stringify(config), 0, author, now)
  }
}

const unusedAtOnce = 1000

/** Stores unused segments with the time at which each was marked as unused. */
async function saveUnusedSegments(
  database: Database,
  rows: AsyncIterable<SegmentRow>,
  now: number,
): Promise<void> {
  let batch: { segment: InsertedSegment; unusedAt: number }[] = []
  const save = async () => {
    const saved = batch
    batch = []
    await database.transaction(async (transaction) => {
      await copySegments(
        transaction,
        saved.map(({ segment }) => segment),
        undefined,
        now,
      )
      for (const [unusedAt, same] of Map.groupBy(saved, (one) => one.unusedAt))
        await markUnused(
          transaction,
          same.map(({ segment }) => segment.segment.id),
          { kind: 'import' },
          unusedAt,
        )
    })
  }
  for await (const { value } of rows) {
    const { dataSegment, usedStatusLastUpdatedDate } = value as Record<string, unknown>
    const { segment, dimensions, metrics } = checkedRow(dataSegment)
    const payload = payloadOf(segment, { loadSpec: virtualLoadSpec, dimensions, metrics })
    const unusedAt = Date.parse(String(usedStatusLastUpdatedDate))
    batch.push({ segment: { segment, payload }, unusedAt: Number.isNaN(unusedAt) ? now : unusedAt })
    if (batch.length === unusedAtOnce) await save()
  }
  if (batch.length > 0) await save()
}

function checkedRow(value: unknown): SnapshotSegment {
  const read = readSegmentRow(value)
  if ('problem' in read) throw new Error(`Invalid row in a checked snapshot: ${read.problem}`)
  return read
}

/** The segments of a checked snapshot, without data. Stores each compaction state when it occurs for the first time. */
async function* virtualSegments(
  database: Database,
  snapshot: SnapshotSource,
  signal: AbortSignal,
): AsyncGenerator<InsertedSegment> {
  const states = new Map<string, StoredCompactionState>()
  for await (const { value } of snapshot.segments()) {
    signal.throwIfAborted()
    const { segment, dimensions, metrics, lastCompactionState: state } = checkedRow(value)
    const payload = payloadOf(segment, { loadSpec: virtualLoadSpec, dimensions, metrics })
    if (state === undefined) {
      yield { segment, payload }
      continue
    }
    const { dataSource } = segment
    const text = JSON.stringify([dataSource, state])
    const stored = states.get(text) ?? (await saveCompactionState(database, { dataSource, state }))
    states.set(text, stored)
    const { id, fingerprint } = stored
    const compacted = { lastCompactionState: state, indexingStateFingerprint: fingerprint }
    yield { segment, payload: { ...payload, ...compacted }, compactionState: id }
  }
}
