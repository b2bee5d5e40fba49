import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import { type FileIngestion, fileTask } from '@svc/domain/ingestion'
import { granularities } from '@svc/domain/time'

/** The supported file formats. */
export const fileFormats = ['csv', 'json', 'parquet'] as const

type FileFormat = (typeof fileFormats)[number]

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
export function parseIngest(file: string, written: WrittenIngest): FileIngestion {
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
    `Unknown file extension of [${file}]: set --format to one of [${fileFormats.join('], [')}]`,
  )
}

/** The task to submit to the overlord, which reads from `file`. */
export const indexTask = (ingestion: FileIngestion, file: string): Record<string, unknown> =>
  fileTask(ingestion, { type: 'local', files: [file] })
