import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import { type Granularity, granularities } from '@svc/domain/time'

/** The supported file formats. */
export const fileFormats = ['csv', 'json', 'parquet'] as const

/** One of `fileFormats`. */
export type FileFormat = (typeof fileFormats)[number]

/** How to ingest a file. */
export interface IngestSpec {
  readonly dataSource: string
  readonly timestampColumn: string
  /** A timestamp format of the overlord: `auto`, `iso`, `millis`, `posix`, or a pattern. */
  readonly timestampFormat: string
  readonly granularity: Granularity
  readonly format: FileFormat
  /** Whether to keep existing data; otherwise it is replaced in the time range of the new rows. */
  readonly append: boolean
  /** The columns to store; all if empty. */
  readonly dimensions: readonly string[]
}

/** The options of an ingestion as the user wrote them. */
export interface WrittenIngest {
  readonly datasource: string
  readonly timestamp: string
  readonly granularity: string
  readonly timestampFormat: string
  readonly format?: string | undefined
  readonly append?: boolean | undefined
  /** Comma-separated names. */
  readonly dimensions?: string | undefined
}

const formatOfExtension: Readonly<Record<string, FileFormat>> = {
  '.csv': 'csv',
  '.json': 'json',
  '.jsonl': 'json',
  '.ndjson': 'json',
  '.parquet': 'parquet',
}

const compressedExtension = /\.(gz|zst)$/i

/** Parses the options. Throws a Failure that names the option, the value, and what is expected. */
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
  const extension = path.extname(file.replace(compressedExtension, '')).toLowerCase()
  const format = formatOfExtension[extension]
  if (format) return format
  throw invalidInput(
    `Missing value for [--format]: expected one of [${fileFormats.join('], [')}], because the extension of [${file}] is unknown`,
  )
}

/** The task to submit to the overlord, which reads from `file`. */
export function indexTask(spec: IngestSpec, file: string): Record<string, unknown> {
  const { dataSource, timestampColumn, timestampFormat, granularity, format, append, dimensions } = spec
  return {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource,
        timestampSpec: { column: timestampColumn, format: timestampFormat },
        dimensionsSpec: { dimensions },
        // Every row is kept. Users who want rollup submit their own task.
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
