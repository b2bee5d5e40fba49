import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type Failure, forbidden, invalidInput } from '@svc/domain/failure'
import type { SnapshotServer } from '@svc/domain/snapshot'
import { parseSizeBytes } from '@svc/domain/validation'
import { maxVirtualServers } from '@svc/shared/config'
import { createNewHome, withStoreOf } from '../cluster/index.ts'
import { type HomeLayout, homeLayout, openHome } from '../home/index.ts'
import { type Snapshot, type SnapshotSource, takeSnapshot } from '../snapshot/index.ts'
import { countOf } from '../terminal/index.ts'
import { countsOf, differencesOf, type StoredImport, unseenParts } from './describe-import.ts'
import { fillStore, type StagedSnapshot } from './fill-store.ts'
import { type ImportReport, writeImportReport } from './import-report.ts'
import { signsOfPartialView } from './partial-view.ts'

/** What to create, and how to report progress. */
export interface RehearsalOptions {
  /** The folder that becomes the home; must not exist yet. */
  readonly home: string
  /** Load rate of each virtual server, for example `1GiB`. */
  readonly loadBytesPerSecond: string
  /** Whether to skip unreadable parts instead of failing. */
  readonly skipBad: boolean
  /** Whether to also import unused segments. */
  readonly unused?: boolean | undefined
  /** Whether to import the visible part if the login sees only part of the cluster. */
  readonly partial?: boolean | undefined
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
  /** How many of them are overshadowed according to the source; null if it does not say so of every segment. */
  readonly overshadowed: number | null
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

/** A new home, and how it differs from its source. */
export interface Rehearsal {
  readonly result: RehearsalResult
  readonly report: ImportReport
}

/**
 * Creates a home from the inventory of a cluster; the home appears only when it is complete. Reads and checks everything,
 * then fills the home's own store. Nothing runs in the home afterward. Throws a Failure if the home exists, the source is
 * unreadable, or the login sees only a part of it.
 */
export async function createRehearsal(source: SnapshotSource, options: RehearsalOptions): Promise<Rehearsal> {
  const { root } = homeLayout(options.home)
  if (!parseSizeBytes(options.loadBytesPerSecond)) {
    throw invalidInput(
      `Invalid value [${options.loadBytesPerSecond}] for [--load-bytes-per-second]: expected a size such as 1GiB`,
    )
  }
  const readAt = new Date().toISOString()
  return await createNewHome(root, async (growing) => {
    const home = openHome(growing)
    const folder = path.join(home.tasks, 'snapshot')
    await mkdir(folder)
    const snapshot = await takeSnapshot(source, folder, {
      skipBad: options.skipBad,
      complete: true,
      unused: options.unused,
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
        `[${source.name}] has [${servers.length}] servers: expected at most [${maxVirtualServers}]`,
      )
    }
    const stored = await fillHome(home, { snapshot, folder, from: source.name }, options)
    const report = describeImport(stored, source.name, readAt)
    if (report.partialView.length > 0 && !options.partial) throw partialFailure(report)
    writeImportReport(home, report)
    await rm(folder, { recursive: true })
    options.signal.throwIfAborted()
    return { result: describe(root, source.name, snapshot), report }
  })
}

function describeImport(stored: StoredImport, source: string, readAt: string): ImportReport {
  const { snapshot, segments, placement } = stored
  const { rules } = snapshot.documents
  const counts = snapshot.restrictedParts?.counts ?? { unseen: 'not read' }
  // Listed, too: the source's own counts may still include them.
  const listed = new Map(segments)
  for (const [name, count] of snapshot.nowUnused) listed.set(name, (listed.get(name) ?? 0) + count)
  return {
    format: 1,
    source,
    readAt,
    partialView: signsOfPartialView({ segments: listed, rules, counts, placement }),
    read: countsOf(stored),
    differences: differencesOf(stored),
    ...(snapshot.leftOut === 0 ? {} : { leftOut: snapshot.problems }),
    unseen: unseenParts(snapshot),
  }
}

const partialFailure = ({ source, partialView }: ImportReport): Failure =>
  forbidden(
    `This login sees only part of the cluster at [${source}], so nothing was created. Use a login with READ on all datasources and on STATE, or add --partial to import the visible part.\n${partialView.map((sign) => `  ${sign}`).join('\n')}`,
  )

function describe(home: string, from: string, snapshot: Snapshot): RehearsalResult {
  const { segments, overshadowed, saysOvershadowed, leftOut, problems, notices, documents } = snapshot
  return {
    home,
    from,
    segments,
    overshadowed: saysOvershadowed ? overshadowed : null,
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
  staged: StagedSnapshot,
  options: RehearsalOptions,
): Promise<StoredImport> {
  const { servers } = staged.snapshot.documents
  const stored = await withStoreOf(home, { signal: options.signal }, (database) =>
    fillStore(database, staged, home.placement, options),
  )
  // Written last: this file makes the home one of virtual servers.
  await writeFile(
    home.virtualServers,
    `${JSON.stringify(servers.map((server) => virtualServer(server, options.loadBytesPerSecond)))}\n`,
    { mode: 0o600 },
  )
  return stored
}

const virtualServer = ({ host, tier, priority, maxSize }: SnapshotServer, loadBytesPerSecond: string) => ({
  name: host,
  tier,
  priority,
  size: maxSize,
  loadBytesPerSecond,
})
