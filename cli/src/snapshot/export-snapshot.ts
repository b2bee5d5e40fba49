import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { snapshotManifestFile } from '@svc/domain/snapshot'
import { withExactLimits } from '@svc/shared/wire'
import { createNewFolder } from '../home/index.ts'
import { formatDocuments, readDocuments, type SnapshotDocuments } from './snapshot-documents.ts'
import { writeSnapshotManifest } from './snapshot-manifest.ts'
import { snapshotNotices } from './snapshot-notices.ts'
import { createProblems, problemLines, problemsFailure, type SnapshotProblems } from './snapshot-problems.ts'
import { documents, type SnapshotSource } from './snapshot-source.ts'
import { type StagedRestrictedParts, stageRestrictedParts } from './stage-restricted-parts.ts'
import {
  type RemainingSegments,
  removeUnusedSegments,
  segmentsFile,
  stageSegments,
} from './stage-segments.ts'

/** Options of a snapshot. */
export interface SnapshotOptions {
  /** Whether to skip unreadable parts instead of failing. */
  readonly skipBad: boolean
  /** Whether to also read which server has which segments, supervisors, users, roles, and the source's own counts. */
  readonly complete?: boolean | undefined
  /** Whether to also read unused segments. */
  readonly unused?: boolean | undefined
  /** A file to write problems to, one per line. */
  readonly problemsFile?: string | undefined
  readonly onProgress: (segments: number) => void
  readonly signal: AbortSignal
}

/** A snapshot in a folder. */
export interface Snapshot extends RemainingSegments {
  readonly documents: SnapshotDocuments
  /** Undefined unless they were requested. */
  readonly restrictedParts: StagedRestrictedParts | undefined
  /** The files that were written. */
  readonly files: readonly string[]
  /** Number of unreadable parts that were skipped. */
  readonly leftOut: number
  /** The problems of the first of these parts. */
  readonly problems: readonly string[]
  /** Notices about the snapshot; none of them is an error. */
  readonly notices: readonly string[]
}

/** Result of an export. */
export interface ExportResult
  extends Omit<Snapshot, 'documents' | 'restrictedParts' | 'nowUnused' | 'saysOvershadowed'> {
  readonly folder: string
}

/**
 * Writes a snapshot to a new folder, which appears only when it is complete. Throws a Failure if the folder already
 * exists or parts are unreadable.
 */
export async function exportSnapshot(
  source: SnapshotSource,
  folder: string,
  options: SnapshotOptions,
): Promise<ExportResult> {
  return await createNewFolder(folder, async (growing) => {
    const {
      documents: _,
      restrictedParts: __,
      nowUnused: ___,
      saysOvershadowed: ____,
      files,
      ...summary
    } = await takeSnapshot(source, growing, options)
    await writeSnapshotManifest(growing, files)
    return { folder, ...summary, files: [...files, snapshotManifestFile] }
  })
}

/**
 * Reads a source into an empty folder, in a canonical form: equal inventories give equal files. Throws a Failure that
 * lists unreadable parts, unless they are skipped.
 */
export async function takeSnapshot(
  source: SnapshotSource,
  folder: string,
  options: SnapshotOptions,
): Promise<Snapshot> {
  const problems = createProblems(options.problemsFile)
  try {
    return await writeSnapshot(source, folder, problems, options)
  } finally {
    problems.end()
  }
}

async function writeSnapshot(
  source: SnapshotSource,
  folder: string,
  problems: SnapshotProblems,
  { skipBad, complete = false, unused = false, onProgress, signal }: SnapshotOptions,
): Promise<Snapshot> {
  const sourceNotices = await source.check()
  signal.throwIfAborted()
  const snapshot = await readDocuments(source, problems)
  signal.throwIfAborted()
  const files: string[] = []
  for (const [name, document] of formatDocuments(snapshot)) {
    const { file } = documents[name]
    await writeFile(path.join(folder, file), `${withExactLimits(JSON.stringify(document, null, 2))}\n`)
    files.push(file)
  }
  const staged = await stageSegments(source, folder, problems, { signal, onProgress }).catch((error) => {
    throw signal.aborted ? signal.reason : error
  })
  const servers = snapshot.servers.map(({ host }) => host)
  const restrictedParts =
    complete || unused
      ? await stageRestrictedParts(source, folder, servers, problems, { unused, signal })
      : undefined
  if (problems.count > 0 && !skipBad) throw problemsFailure(source.name, problems)
  const unusedIds = restrictedParts?.unusedIds ?? new Set()
  const remaining = await removeUnusedSegments(folder, staged, unusedIds, signal)
  return {
    ...remaining,
    documents: snapshot,
    restrictedParts,
    files: [...files, segmentsFile, ...(restrictedParts?.files ?? [])],
    leftOut: problems.count,
    problems: problemLines(problems),
    notices: [...sourceNotices, ...snapshotNotices(source.name, snapshot, remaining)],
  }
}
