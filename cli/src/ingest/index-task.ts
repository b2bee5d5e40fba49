import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import { type Granularity, granularities } from '@svc/domain/time'

/** The formats in which a file may be. */
export const fileFormats = ['csv', 'json', 'parquet'] as const

/** One of `fileFormats`. */
export type FileFormat = (typeof fileFormats)[number]

/** What a file becomes. */
export interface IngestSpec {
  readonly dataSource: string
  readonly timestampColumn: string
  /** As the overlord knows them: `auto`, `iso`, `millis`, `posix` or a pattern of letters. */
  readonly timestampFormat: string
  readonly granularity: Granularity
  readonly format: FileFormat
  /** Beside what is there; else in place of it, where the new rows lie in time. */
  readonly append: boolean
  /** The columns to store; all when empty. */
  readonly dimensions: readonly string[]
}

/** The options of an ingestion as the user writes them. */
export interface WrittenIngest {
  readonly datasource: string
  readonly timestamp: string
  readonly granularity: string
  readonly timestampFormat: string
  readonly format?: string | undefined
  readonly append?: boolean | undefined
  /** Names separated by commas. */
  readonly dimensions?: string | undefined
}

const formatOfEnding: Readonly<Record<string, FileFormat>> = {
  '.csv': 'csv',
  '.json': 'json',
  '.jsonl': 'json',
  '.ndjson': 'json',
  '.parquet': 'parquet',
}

const compressedEnding = /\.(gz|zst)$/i

/** Reads the options; throws a Failure that names the option, the value and what is allowed. */
export function parseIngest(file: string, written: WrittenIngest): IngestSpec {
  const allowedGranularities = granularities.filter((name) => name !== 'NONE')
  const granularity = allowedGranularities.find((name) => name === written.granularity.toUpperCase())
  if (!granularity) {
    throw invalidInput(
      `Invalid value [${written.granularity}] for [--granularity]: expected one of [${allowedGranularities.join('], [')}]`,
    )
  }
  const dimensions = (written.dimensions?.split(',') ?? []).map((name) => name.trim())
  if (dimensions.includes('')) {
    throw invalidInput(
      `Invalid value [${written.dimensions}] for [--dimensions]: expected comma-separated names`,
    )
  }
  return {
    dataSource: written.datasource,
    timestampColumn: written.timestamp,
    timestampFormat: written.timestampFormat,
    granularity,
    format: formatOf(file, written.format),
    append: written.append ?? false,
    dimensions,
  }
}

function formatOf(file: string, written: string | undefined): FileFormat {
  if (written !== undefined) {
    const format = fileFormats.find((known) => known === written)
    if (format) return format
    throw invalidInput(
      `Invalid value [${written}] for [--format]: expected one of [${fileFormats.join('], [')}]`,
    )
  }
  const ending = path.extname(file.replace(compressedEnding, '')).toLowerCase()
  const format = formatOfEnding[ending]
  if (format) return format
  throw invalidInput(
    `The ending of file [${file}] tells no format: name it with --format, allowed are [${fileFormats.join('], [')}]`,
  )
}

/** The task that does it, as the overlord takes it; `file` is where the overlord reads. */
export function indexTask(spec: IngestSpec, file: string): Record<string, unknown> {
  const { dataSource, timestampColumn, timestampFormat, granularity, format, append, dimensions } = spec
  return {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource,
        timestampSpec: { column: timestampColumn, format: timestampFormat },
        dimensionsSpec: { dimensions },
        // Every row of the file stays a row: whoever wants sums instead writes a task.
        granularitySpec: { segmentGranularity: granularity, queryGranularity: 'NONE', rollup: false },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: { type: 'local', files: [file] },
        inputFormat: format === 'csv' ? { type: 'csv', findColumnsFromHeader: true } : { type: format },
        appendToExisting: append,
      },
    },
  }
}
