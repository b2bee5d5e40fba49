import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { invalidInput } from '@svc/domain/failure'
import { type CsvFormat, csvRecords } from '@svc/domain/ingestion'
import { storageFailure } from '../deep-storage/index.ts'
import type { InputFormat } from './index-spec.ts'
import type { InputFile } from './input-files.ts'

type SeparatedFormat = Extract<InputFormat, { type: 'csv' | 'tsv' }>

const maxHeaderLength = 1 << 20

function decompressed(path: string): Readable {
  const stream = createReadStream(path)
  if (path.endsWith('.gz')) return stream.pipe(createGunzip()).once('close', () => stream.destroy())
  if (path.endsWith('.zst')) return stream.pipe(createZstdDecompress()).once('close', () => stream.destroy())
  return stream
}

/** Returns the fields of the first record of a text; undefined if the text ends before the record does. */
function firstRecord(text: string, format: CsvFormat, isComplete: boolean): readonly string[] | undefined {
  const [record] = csvRecords(text, format)
  return record && (record.end === 'line' || (isComplete && record.end === 'text'))
    ? record.fields
    : undefined
}

function withoutLines(text: string, lines: number): string {
  let rest = text
  for (let line = 0; line < lines; line++) {
    const end = /\r\n|\n|\r/.exec(rest)
    if (end === null) return ''
    rest = rest.slice(end.index + end[0].length)
  }
  return rest
}

/**
 * Returns the column names in the header line of a CSV or TSV file; an empty list for an empty file. Throws an
 * invalidInput Failure if the header does not end within 1 MiB or names a column twice.
 */
export async function readHeader(file: InputFile, format: SeparatedFormat, quote: string): Promise<string[]> {
  let bytes = Buffer.alloc(0)
  let isComplete = true
  const stream = decompressed(file.path)
  try {
    for await (const chunk of stream) {
      bytes = Buffer.concat([bytes, chunk as Buffer])
      if (bytes.length >= maxHeaderLength) {
        isComplete = false
        break
      }
    }
  } catch (error) {
    throw storageFailure(`Failed to read the header of file [${file.title}]`, file.title, error)
  } finally {
    stream.destroy()
  }
  const text = withoutLines(bytes.toString('utf8').replace(/^\uFEFF/, ''), format.skipHeaderRows)
  if (text.trim() === '') return []
  const names = firstRecord(text, { delimiter: format.delimiter, quote }, isComplete)
  if (names === undefined) {
    throw invalidInput(
      `The header line of file [${file.title}] does not end within [${maxHeaderLength}] bytes`,
    )
  }
  const named = names.map((name, index) => name.trim() || `column_${index + 1}`)
  const twice = named.find((name, index) => named.indexOf(name) !== index)
  if (twice !== undefined)
    throw invalidInput(`The header line of file [${file.title}] contains column [${twice}] twice`)
  return named
}
