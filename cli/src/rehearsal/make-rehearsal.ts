import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import { formatRule } from '@svc/domain/rules'
import { payloadOf, virtualLoadSpec } from '@svc/domain/segment'
import { parseSizeBytes } from '@svc/domain/validation'
import { mostVirtualServers } from '@svc/shared/config'
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
import { makeNewHome, withStoreOf } from '../cluster/index.ts'
import { type HomeLayout, homeLayout, openHome } from '../home/index.ts'
import {
  openFolder,
  readSegmentRow,
  type Snapshot,
  type SnapshotDocuments,
  type SnapshotServer,
  type SnapshotSource,
  takeSnapshot,
} from '../transfer/index.ts'

/** What is made, and how it is told. */
export interface RehearsalOptions {
  /** The folder that becomes the home; must not be there yet. */
  readonly home: string
  /** How fast each virtual server loads, such as `1GiB`. */
  readonly loadBytesPerSecond: string
  /** Whether to leave out what cannot be read, instead of making nothing. */
  readonly skipBad: boolean
  /** A file that gets each part that cannot be read, one a line. */
  readonly problemsFile?: string | undefined
  readonly signal: AbortSignal
  /** Called for each thing that was done, in one short text. */
  readonly onStep: (step: string) => void
}

/** What was made. */
export interface RehearsalResult {
  readonly home: string
  readonly from: string
  readonly segments: number
  /** How many of them the source counts as overshadowed. */
  readonly overshadowed: number
  readonly servers: number
  readonly tiers: readonly string[]
  /** Datasources with rules of their own, and the defaults. */
  readonly rules: number
  readonly compactionConfigs: number
  /** How many parts were left out because they could not be read, and the first of them. */
  readonly leftOut: number
  readonly problems: readonly string[]
  /** What people should know of the source, though nothing is wrong. */
  readonly notices: readonly string[]
}

/**
 * Makes a home from what a cluster manages, whole or not at all: reads and checks everything, then fills a store of
 * its own. Nothing runs in it afterwards. Throws a Failure where the home exists or the source cannot be read.
 */
export async function makeRehearsal(
  source: SnapshotSource,
  options: RehearsalOptions,
): Promise<RehearsalResult> {
  const { root } = homeLayout(options.home)
  if (!parseSizeBytes(options.loadBytesPerSecond)) {
    throw invalidInput(
      `Invalid value [${options.loadBytesPerSecond}] for [--load-bytes-per-second]: expected a size such as 1GiB`,
    )
  }
  return await makeNewHome(root, async (growing) => {
    const home = openHome(growing)
    const folder = path.join(home.tasks, 'snapshot')
    await mkdir(folder)
    const snapshot = await takeSnapshot(source, folder, {
      skipBad: options.skipBad,
      problemsFile: options.problemsFile,
      signal: options.signal,
      onProgress: (segments) => options.onStep(`${segments} segments read`),
    })
    const { servers } = snapshot.documents
    if (servers.length === 0) {
      throw invalidInput(`[${source.name}] has no server of type [historical] that could hold segments`)
    }
    options.onStep(`${snapshot.segments} segments and ${servers.length} servers read`)
    if (servers.length > mostVirtualServers) {
      throw invalidInput(
        `[${source.name}] has [${servers.length}] servers, allowed are ${mostVirtualServers} at the most`,
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
    onStep('rules and configuration written')
    const rows = virtualSegments(database, openFolder(folder), signal)
    await copyManySegments(database, rows, now, (written) =>
      onStep(`${written} of ${segments} segments written`),
    )
  })
  // Written last: from now on the home is one of virtual servers.
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

/** The segments of a snapshot that was checked, without bytes; keeps what they were compacted to as it meets it. */
async function* virtualSegments(
  database: Database,
  snapshot: SnapshotSource,
  signal: AbortSignal,
): AsyncGenerator<InsertedSegment> {
  const states = new Map<string, StoredCompactionState>()
  for await (const { value } of snapshot.segments()) {
    signal.throwIfAborted()
    const read = readSegmentRow(value)
    if ('problem' in read) throw new Error(`A row that was checked ${read.problem}`)
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
