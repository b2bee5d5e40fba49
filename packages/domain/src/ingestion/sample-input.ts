import { invalidInput } from '../failure/index.ts'
import { parseInstant } from '../time/index.ts'
import { csvRecords } from './csv-records.ts'

/** What the values of a column look like. */
type ColumnKind = 'time' | 'number' | 'text'

/** A column of a file, with its first values. */
export interface SampledColumn {
  readonly name: string
  readonly kind: ColumnKind
  /** The first values that differ. */
  readonly examples: readonly string[]
}

/** The format and the columns of a file. */
export interface InputSample {
  readonly format: 'csv' | 'json'
  readonly columns: readonly SampledColumn[]
  /** The column that is most likely the timestamp; undefined if no column has times. */
  readonly timestamp: string | undefined
}

const maxRows = 100
const maxExamples = 3
const timeNames = ['__time', 'timestamp', 'time', 'ts', 'datetime', 'date', 'day']
// Milliseconds since the epoch, from 1990 to 2100.
const [minTimeMs, maxTimeMs] = [631_152_000_000, 4_102_444_800_000]

/** Detects the columns of the start of a CSV file with a header line, or of JSON Lines. Throws invalidInput for other text. */
export function sampleInput(text: string): InputSample {
  const first = text.trimStart().charAt(0)
  if (first === '') throw invalidInput('The file is empty')
  if (first === '[') throw invalidInput('Invalid file: expected CSV, or JSON Lines with one object per line')
  const rows = first === '{' ? rowsOfJson(text) : rowsOfCsv(text)
  const values = new Map<string, string[]>()
  for (const row of rows)
    for (const [name, value] of row) {
      const known = values.get(name) ?? []
      values.set(name, known)
      if (value !== '') known.push(value)
    }
  const columns = [...values].map(([name, list]) => ({
    name,
    kind: kindOf(list),
    examples: [...new Set(list)].slice(0, maxExamples),
  }))
  return { format: first === '{' ? 'json' : 'csv', columns, timestamp: timestampAmong(columns) }
}

type Row = readonly (readonly [name: string, value: string])[]

function rowsOfJson(text: string): Row[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.slice(0, maxRows).map((line, index) => {
    const row = parsedObject(line)
    if (row === undefined) throw invalidInput(`Invalid line [${index + 1}]: expected a JSON object`)
    return Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value),
    ])
  })
}

function parsedObject(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function rowsOfCsv(text: string): Row[] {
  const [header, ...rows] = recordsOf(text)
  if (header === undefined || rows.length === 0)
    throw invalidInput('Invalid file: expected a header line and at least one row')
  return rows.map((row) => header.map((name, index) => [name, row[index] ?? '']))
}

/** Returns the first records of a CSV file, without empty lines. */
function recordsOf(text: string): (readonly string[])[] {
  const records: (readonly string[])[] = []
  for (const { fields } of csvRecords(text, { delimiter: ',', quote: '"' })) {
    if (fields.length > 1 || fields[0] !== '') records.push(fields)
    if (records.length > maxRows) break
  }
  return records
}

function kindOf(values: readonly string[]): ColumnKind {
  if (values.length === 0) return 'text'
  if (values.every((value) => value.trim() !== '' && Number.isFinite(Number(value)))) {
    const isTime = values.every((value) => Number(value) >= minTimeMs && Number(value) <= maxTimeMs)
    return isTime ? 'time' : 'number'
  }
  return values.every(isInstant) ? 'time' : 'text'
}

function isInstant(text: string): boolean {
  try {
    parseInstant(text.replace(' ', 'T'))
    return true
  } catch {
    return false
  }
}

function timestampAmong(columns: readonly SampledColumn[]): string | undefined {
  const times = columns.filter(({ kind }) => kind === 'time').map(({ name }) => name)
  return timeNames.map((name) => times.find((time) => time.toLowerCase() === name)).find(Boolean) ?? times[0]
}
