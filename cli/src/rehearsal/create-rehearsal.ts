import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import { formatRule } from '@svc/domain/rules'
import { payloadOf, virtualLoadSpec } from '@svc/domain/segment'
import { parseSizeBytes } from '@svc/domain/validation'
import { maxVirtualServers } from '@svc/shared/config'
import { coordinatorConfigName } from '@svc/shared/coordinator-config'
import {
  changeClusterCompactionConfig,
  copyManySegments,
  type Database,
  type InsertedSegment,
  migrateSchema,
  type StoredCompactionState,
  saveCompactionConfig,
  saveCompactionState,
  saveCompactionSupervisor,
  saveConfig,
  saveRules,
} from '@svc/shared/postgres'
import { createNewHome, withStoreOf } from '../cluster/index.ts'
import { type HomeLayout, homeLayout, openHome } from '../home/index.ts'
import { countOf } from '../terminal/index.ts'
import {
  openFolder,
  readSegmentRow,
  type Snapshot,
  type SnapshotDocuments,
  type SnapshotServer,
  type SnapshotSource,
  takeSnapshot,
} from '../transfer/index.ts'

/** What to create, and how to report progress. */
export interface RehearsalOptions {
  /** The folder that becomes the home; must not exist yet. */
  readonly home: string
  /** Load rate of each virtual server, for example `1GiB`. */
  readonly loadBytesPerSecond: string
  /** Whether to skip unreadable parts instead of failing. */
  readonly skipBad: boolean
  /** A file to write unreadable parts to, one per line. */
  readonly problemsFile?: string | undefined
  readonly signal: AbortSignal
  /** Called with a short text for each completed step. */
  readonly onStep: (step: string) => void
}

/** Result of an import. */
export interface RehearsalResult {
  readonly home: string
  readonly from: string
  readonly segments: number
  /** How many of them are overshadowed according to the source. */
  readonly overshadowed: number
  readonly servers: number
  readonly tiers: readonly string[]
  /** Number of rule lists, including the cluster defaults. */
  readonly rules: number
  readonly compactionConfigs: number
  /** Number of unreadable parts that were skipped, and the first of them. */
  readonly leftOut: number
  readonly problems: readonly string[]
  /** Notices about the source; none of them is an error. */
  readonly notices: readonly string[]
}

/**
 * Creates a home from the inventory of a cluster; the home appears only when it is complete. Reads and checks everything,
 * then fills the home's own store. Nothing runs in the home afterwards. Throws a Failure if the home exists or the source
 * is unreadable.
 */
export async function createRehearsal(
  source: SnapshotSource,
  options: RehearsalOptions,
): Promise<RehearsalResult> {
  const { root } = homeLayout(options.home)
  if (!parseSizeBytes(options.loadBytesPerSecond)) {
    throw invalidInput(
      `Invalid value [${options.loadBytesPerSecond}] for [--load-bytes-per-second]: expected a size such as 1GiB`,
    )
  }
  return await createNewHome(root, async (growing) => {
    const home = openHome(growing)
    const folder = path.join(home.tasks, 'snapshot')
    await mkdir(folder)
    const snapshot = await takeSnapshot(source, folder, {
      skipBad: options.skipBad,
      problemsFile: options.problemsFile,
      signal: options.signal,
      onProgress: (segments) => options.onStep(`Read ${countOf(segments, 'segment')}`),
    })
    const { servers } = snapshot.documents
    if (servers.length === 0) {
      throw invalidInput(`[${source.name}] has no server of type [historical]`)
    }
    options.onStep(`Read ${countOf(snapshot.segments, 'segment')} and ${countOf(servers.length, 'server')}`)
    if (servers.length > maxVirtualServers) {
      throw invalidInput(
        `[${source.name}] has [${servers.length}] servers, expected at most ${maxVirtualServers}`,
      )
    }
    await fillHome(home, folder, source.name, snapshot, options)
    await rm(folder, { recursive: true })
    options.signal.throwIfAborted()
    return describe(root, source.name, snapshot)
  })
}

function describe(home: string, from: string, snapshot: Snapshot): RehearsalResult {
  const { segments, overshadowed, leftOut, problems, notices, documents } = snapshot
  return {
    home,
    from,
    segments,
    overshadowed,
    servers: documents.servers.length,
    tiers: [...new Set(documents.servers.map(({ tier }) => tier))],
    rules: documents.rules.size,
    compactionConfigs: documents.compaction?.configs.length ?? 0,
    leftOut,
    problems,
    notices,
  }
}

async function fillHome(
  home: HomeLayout,
  folder: string,
  from: string,
  { documents, segments }: Snapshot,
  { signal, onStep, loadBytesPerSecond }: RehearsalOptions,
): Promise<void> {
  await withStoreOf(home, signal, async (database) => {
    await migrateSchema(database)
    const now = Date.now()
    await saveDocuments(database, documents, from, now)
    onStep('Wrote rules and configuration')
    const rows = virtualSegments(database, openFolder(folder), signal)
    await copyManySegments(database, rows, now, (written) =>
      onStep(`Wrote ${written.toLocaleString('en-US')} of ${countOf(segments, 'segment')}`),
    )
  })
  // Written last: this file makes the home one of virtual servers.
  await writeFile(
    home.virtualServers,
    `${JSON.stringify(documents.servers.map((server) => virtualServer(server, loadBytesPerSecond)))}\n`,
    { mode: 0o600 },
  )
}

const virtualServer = ({ host, tier, priority, maxSize }: SnapshotServer, loadBytesPerSecond: string) => ({
  name: host,
  tier,
  priority,
  size: maxSize,
  loadBytesPerSecond,
})

async function saveDocuments(
  database: Database,
  { rules, compaction, config }: SnapshotDocuments,
  from: string,
  now: number,
): Promise<void> {
  const author = { author: 'svc import', comment: `Imported from ${from}`, identity: '', ip: '' }
  for (const [dataSource, list] of rules) {
    await saveRules(database, dataSource, JSON.stringify(list.map(formatRule)), author, now)
  }
  if (compaction) {
    const { cluster, configs } = compaction
    await changeClusterCompactionConfig(database, () => cluster, author, now)
    for (const one of configs) {
      if (cluster.useSupervisors)
        await saveCompactionSupervisor(database, { config: one, suspended: false }, author, now)
      else await saveCompactionConfig(database, one, author, now)
    }
  }
  if (config) {
    await saveConfig(database, coordinatorConfigName, JSON.stringify(config), 0, author, now)
  }
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
    const read = readSegmentRow(value)
    if ('problem' in read) throw new Error(`Invalid row in a checked snapshot: ${read.problem}`)
    const { segment, dimensions, metrics, lastCompactionState: state } = read
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
