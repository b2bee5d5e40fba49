import type { DeepStorage } from '../deep-storage/index.ts'
import { literal } from '../duckdb/index.ts'
import { type Engine, openEngine } from './engine.ts'
import type { HttpInputLimits } from './http-input.ts'
import type { IndexSpec } from './index-spec.ts'
import type { InputAccess } from './input-access.ts'
import { fetchInput, type InputFile } from './input-files.ts'
import { openInput } from './input-relation.ts'
import { type RowCounts, type RowsPlan, readRows } from './read-rows.ts'
import { storedDimensions } from './stored-columns.ts'
import { openTaskFolder } from './task-folder.ts'
import { type WrittenSegment, writeSegments } from './write-segments.ts'

/** The progress of a task. */
export interface IndexProgress {
  /** In this order: fetch the input, read and sort it, write segments. */
  readonly phase: 'fetching' | 'reading' | 'writing'
  /** Progress of the phase, from 0 to 1; undefined if unknown. */
  readonly fraction: number | undefined
  /** Undefined before the writing phase. */
  readonly rowsRead: number | undefined
  readonly rowsWritten: number
  readonly segmentsWritten: number
  /** Columns that the task names but no row has; absent before the writing phase and if there are none. */
  readonly columnsInNoRow?: readonly string[]
}

/** What a task has written. Nothing is published yet. */
export interface IndexResult extends RowCounts {
  readonly rowsWritten: number
  readonly segments: readonly WrittenSegment[]
}

export interface IndexTaskOptions {
  /** A folder for this task only, created if missing. The task removes its files from it at the end. */
  readonly workDirectory: string
  readonly deepStorage: DeepStorage
  /** Part of every path in deep storage that is unique to this task, such as its id. */
  readonly pathPrefix: string
  readonly access: InputAccess
  readonly httpLimits: HttpInputLimits
  readonly memoryLimitBytes: number
  readonly threads: number
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

const progressPeriodMs = 200
const columnDiscoveryShare = 0.3

/**
 * Runs an index_parallel task up to publishing: reads the input, writes segments as Parquet files sorted by time and
 * dimensions, and pushes them to deep storage. An input without rows is valid. Throws a Failure: invalidInput (invalid
 * data or files), tooLarge (memory), unavailable (deep storage, disk, hosts); or the signal's reason. A task that fails
 * leaves nothing behind.
 */
export async function runIndexTask(spec: IndexSpec, options: IndexTaskOptions): Promise<IndexResult> {
  const { signal } = options
  signal?.throwIfAborted()
  const folder = await openTaskFolder(options.workDirectory)
  const reported = {
    phase: 'fetching',
    fraction: 0,
    rowsRead: undefined,
    rowsWritten: 0,
    segmentsWritten: 0,
  } as const
  const report: Report = (progress) => options.onProgress?.({ ...reported, ...progress })
  try {
    await folder.clear()
    report({})
    const files = await fetchInput(
      spec,
      folder.input,
      options,
      (done, all) => report({ fraction: done / all }),
      signal,
    )
    const engine = await openEngine({
      directories: [folder.root],
      files: files.map(({ realPath }) => realPath),
      spillDirectory: folder.spill,
      memoryLimitBytes: options.memoryLimitBytes,
      threads: options.threads,
      signal,
    })
    try {
      // Rows that do not fit into memory go to this file compressed instead of to the spill folder uncompressed.
      await engine.run(`ATTACH ${literal(folder.rowsFile)} AS work`)
      const { plan, counts } = await readInput(spec, files, engine, report)
      return { ...counts, ...(await writeOutput(plan, counts, folder.segments, engine, options, report)) }
    } finally {
      engine.close()
    }
  } finally {
    await folder.clear()
  }
}

type Report = (progress: Partial<IndexProgress>) => void

/** Reads the rows of the input into the engine, and reports the progress regularly. */
async function readInput(
  spec: IndexSpec,
  files: readonly InputFile[],
  engine: Engine,
  report: Report,
): Promise<{ plan: RowsPlan; counts: RowCounts }> {
  // Discovering columns that the task does not name takes additional reads.
  const discoveryShare = spec.dimensions.length > 0 ? 0 : columnDiscoveryShare
  let before = 0
  let share = discoveryShare
  let fraction = 0
  const ticker = setInterval(() => {
    fraction = Math.max(fraction, before + share * (engine.progress() ?? 0))
    report({ phase: 'reading', fraction })
  }, progressPeriodMs)
  try {
    report({ phase: 'reading' })
    const input = await openInput(files, spec.inputFormat, engine)
    const plan: RowsPlan = { spec, input, dimensions: await storedDimensions(spec, input, engine) }
    before = discoveryShare
    share = 1 - discoveryShare
    return { plan, counts: await readRows(plan, engine) }
  } finally {
    clearInterval(ticker)
  }
}

/** Writes the rows in the engine to segments, and pushes them to deep storage. */
async function writeOutput(
  plan: RowsPlan,
  { rowsRead, columnsInNoRow }: RowCounts,
  directory: string,
  engine: Engine,
  { deepStorage, pathPrefix }: IndexTaskOptions,
  report: Report,
): Promise<Pick<IndexResult, 'rowsWritten' | 'segments'>> {
  let rowsWritten = 0
  const segments = await writeSegments(plan, {
    engine,
    deepStorage,
    directory,
    pathPrefix,
    onWritten: (done, all, rows) => {
      rowsWritten = rows
      report({
        phase: 'writing',
        fraction: all === 0 ? 1 : done / all,
        rowsRead,
        rowsWritten,
        segmentsWritten: done,
        ...(columnsInNoRow.length > 0 ? { columnsInNoRow } : {}),
      })
    },
  })
  return { rowsWritten, segments }
}
