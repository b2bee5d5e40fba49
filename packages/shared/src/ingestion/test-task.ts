import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createLocalDeepStorage, type DeepStorage } from '../deep-storage/index.ts'
import type { Engine } from './engine.ts'
import type { HttpInputLimits } from './http-input.ts'
import { parseIndexSpec } from './parse-index-spec.ts'
import { type IndexProgress, type IndexResult, runIndexTask } from './run-index-task.ts'
import { temporaryFolder, testEngine } from './test-engine.ts'

type Json = Record<string, unknown>

/** The parts of a task that a test sets; the rest has default values. */
export interface TaskParts {
  readonly dataSource?: string
  readonly timestampSpec?: Json
  readonly dimensionsSpec?: Json
  readonly metricsSpec?: readonly Json[]
  readonly granularitySpec?: Json
  readonly inputSource: Json
  readonly inputFormat?: Json
  readonly tuningConfig?: Json
}

/** Overrides of the usual options for running a task. */
export interface RunParts {
  readonly deepStorage?: DeepStorage
  readonly workDirectory?: string
  readonly memoryLimitBytes?: number
  readonly threads?: number
  readonly signal?: AbortSignal
  readonly allowedHosts?: readonly string[]
  readonly httpLimits?: Partial<HttpInputLimits>
  readonly onProgress?: (progress: IndexProgress) => void
}

/** Runs tasks and reads back what they wrote. */
export interface TaskBench {
  /** Folder for local input. */
  readonly inputFolder: string
  readonly storageFolder: string
  readonly workFolder: string
  run(parts: TaskParts, run?: RunParts): Promise<IndexResult>
  /** Returns the stored rows of a result, in the order of its segments; `rest` may be a clause such as `ORDER BY`. */
  rows(result: IndexResult, select?: string, rest?: string): Promise<Json[]>
  /** Returns the paths of all files in deep storage. */
  storedFiles(): string[]
}

const httpLimitsOfTests: HttpInputLimits = {
  idleTimeoutMs: 30_000,
  timeoutMs: 60_000,
  minBytesPerSecond: 0,
  maxBytes: 10_000_000,
  maxDecompressedBytes: 10_000_000,
}

/** Returns the body of a task. */
function taskBody(parts: TaskParts): Json {
  return {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource: parts.dataSource ?? 'koalas',
        timestampSpec: parts.timestampSpec ?? { column: 't' },
        dimensionsSpec: parts.dimensionsSpec,
        metricsSpec: parts.metricsSpec,
        granularitySpec: { segmentGranularity: 'DAY', rollup: false, ...parts.granularitySpec },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: parts.inputSource,
        inputFormat: parts.inputFormat ?? { type: 'json' },
      },
      tuningConfig: parts.tuningConfig,
    },
  }
}

/** Returns an inline input source with one JSON object per line. */
export const inlineRows = (...rows: readonly unknown[]): Json => ({
  type: 'inline',
  data: rows.map((row) => JSON.stringify(row)).join('\n'),
})

/** Returns an inline input source with a text. */
export const inlineText = (data: string): Json => ({ type: 'inline', data })

/** Creates a bench whose folders are removed after the tests of the file. */
export async function openBench(): Promise<TaskBench> {
  const folder = temporaryFolder()
  const inputFolder = join(folder, 'input')
  mkdirSync(inputFolder)
  const storageFolder = join(folder, 'storage')
  const workFolder = join(folder, 'work')
  const engine: Engine = await testEngine(folder)
  let runs = 0
  return {
    inputFolder,
    storageFolder,
    workFolder,
    run: (parts, run = {}) => {
      const access = { allowedRoots: [inputFolder], allowedHosts: run.allowedHosts ?? [] }
      const { allowedHosts: _, httpLimits, ...options } = run
      runs += 1
      return runIndexTask(parseIndexSpec(taskBody(parts), access), {
        workDirectory: workFolder,
        deepStorage: createLocalDeepStorage({ rootDirectory: storageFolder }),
        pathPrefix: `task ${runs}`,
        access,
        memoryLimitBytes: 256 * 1024 * 1024,
        threads: 2,
        ...options,
        httpLimits: { ...httpLimitsOfTests, ...httpLimits },
      })
    },
    rows: async (result, select = '*', rest = '') => {
      const files = result.segments.map(({ path }) => `'${join(storageFolder, path).replaceAll("'", "''")}'`)
      return await engine.rows(
        `SELECT ${select} FROM read_parquet([${files.join(', ')}], hive_partitioning = false) ${rest}`,
      )
    },
    storedFiles: () =>
      readdirSync(storageFolder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(storageFolder.length + 1)),
  }
}
