import { invalidInput } from '@svc/domain/failure'
import { identifier, literal, literalList } from '../duckdb/index.ts'
import { readHeader } from './csv-header.ts'
import type { Engine } from './engine.ts'
import type { InputFormat } from './index-spec.ts'
import type { InputFile } from './input-files.ts'

/** A column of the input in SQL. */
export interface SourceColumn {
  /** Its name in the relation. */
  readonly sql: string
  /** Its type in DuckDB; always VARCHAR for text formats. */
  readonly type: string
  /** For JSON, the name of a column with the JSON type of each value. */
  readonly jsonType?: string
}

/** The rows of some files in SQL. */
export interface Relation {
  /** The FROM clause, without FROM. */
  readonly from: string
  /** The requested columns by name, without those that are not in the input. */
  readonly columns: ReadonlyMap<string, SourceColumn>
  /** An expression that is true for an invalid row. */
  readonly broken: string
}

/** How the relation treats invalid lines: stores them in a table of rejects, or skips them silently. */
export type BrokenLines = { readonly reject: number } | 'skip'

/** The input of a task, in any format. */
export interface Input {
  readonly files: readonly InputFile[]
  /** The names of all columns if they are known without reading the rows; otherwise undefined. */
  readonly knownColumns: readonly string[] | undefined
  /** Returns the names of all columns in order. */
  discoverColumns(): Promise<readonly string[]>
  relation(files: readonly InputFile[], columns: readonly string[], brokenLines: BrokenLines): Relation
}

const maxColumns = 10_000

const pathsOf = (files: readonly InputFile[]): string => literalList(files.map((file) => file.path))

// DuckDB keeps three buffers, regardless of the memory limit of the task. Each must fit the longest line, 2 MB.
const readBufferBytes = 4 * 2 ** 20

function columnsOf(
  names: readonly string[],
  column: (index: number, name: string) => SourceColumn | undefined,
): Map<string, SourceColumn> {
  const found = new Map<string, SourceColumn>()
  names.forEach((name, index) => {
    const source = column(index, name)
    if (source !== undefined) found.set(name, source)
  })
  return found
}

function tooManyColumns(): never {
  throw invalidInput(`The input has more than [${maxColumns}] columns`)
}

function openJson(files: readonly InputFile[], engine: Engine): Input {
  // Lines that are not valid JSON are read as NULL and count as invalid rows.
  const reader = (some: readonly InputFile[]): string =>
    `read_json_objects(${pathsOf(some)}, format = 'newline_delimited', ignore_errors = true, hive_partitioning = false)`
  const pointer = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return {
    files,
    knownColumns: undefined,
    discoverColumns: async () => {
      const keys = await engine.rows(
        `SELECT key FROM (
           SELECT unnest(keys) AS key, generate_subscripts(keys, 1) AS place
           FROM (SELECT json_keys(json) AS keys FROM ${reader(files)} WHERE json_type(json) = 'OBJECT')
         ) GROUP BY key ORDER BY min(place), key LIMIT ${maxColumns + 1}`,
      )
      if (keys.length > maxColumns) tooManyColumns()
      return keys.map((row) => String(row.key))
    },
    // One call extracts all values of a row, and names that differ only in case stay distinct.
    relation: (some, names) => {
      const pointers = literalList(names.map(pointer))
      const values = names.map(
        (_, index) => `texts[${index + 1}] AS s${index}, types[${index + 1}] AS j${index}`,
      )
      return {
        from: `(SELECT broken, ${values.join(', ')} FROM (
                  SELECT json_type(json) IS DISTINCT FROM 'OBJECT' AS broken,
                    json_extract_string(json, ${pointers}) AS texts, json_type(json, ${pointers}) AS types
                  FROM ${reader(some)})) AS input`,
        columns: columnsOf(names, (index) => ({ sql: `s${index}`, type: 'VARCHAR', jsonType: `j${index}` })),
        broken: 'broken',
      }
    },
  }
}

async function openSeparated(
  files: readonly InputFile[],
  format: Extract<InputFormat, { type: 'csv' | 'tsv' }>,
): Promise<Input> {
  // As in Druid, quotes have no meaning in TSV files.
  const quote = format.type === 'csv' ? '"' : ''
  const namesOf = new Map<InputFile, readonly string[]>()
  for (const file of files) namesOf.set(file, format.columns ?? (await readHeader(file, format, quote)))
  const withColumns = files.filter((file) => namesOf.get(file)?.length)
  const all = [...new Set(withColumns.flatMap((file) => namesOf.get(file) ?? []))]
  if (all.length > maxColumns) tooManyColumns()

  function reader(some: readonly InputFile[], width: number, brokenLines: BrokenLines): string {
    const columns = Array.from({ length: width }, (_, index) => `c${index}: 'VARCHAR'`).join(', ')
    const errors =
      brokenLines === 'skip'
        ? 'ignore_errors = true'
        : `store_rejects = true, rejects_limit = ${brokenLines.reject}`
    return `read_csv(${pathsOf(some)}, auto_detect = false, columns = {${columns}}, delim = ${literal(format.delimiter)},
      quote = ${literal(quote)}, escape = ${literal(quote)}, header = ${format.columns === undefined},
      skip = ${format.skipHeaderRows}, hive_partitioning = false, buffer_size = ${readBufferBytes},
      ${errors})`
  }

  return {
    files,
    knownColumns: all,
    discoverColumns: async () => all,
    relation: (some, names, brokenLines) => {
      const groups = Map.groupBy(
        some.filter((file) => withColumns.includes(file)),
        (file) => JSON.stringify(namesOf.get(file)),
      )
      const selects = [...groups].map(([key, group]) => {
        const header = JSON.parse(key) as string[]
        const values = names.map((name, index) => {
          const place = header.indexOf(name)
          return `${place < 0 ? 'NULL::VARCHAR' : `c${place}`} AS s${index}`
        })
        return `SELECT ${values.join(', ')} FROM ${reader(group, header.length, brokenLines)}`
      })
      const nothing = `SELECT ${names.map((_, index) => `NULL::VARCHAR AS s${index}`).join(', ')} WHERE false`
      return {
        from: `(${selects.length === 0 ? nothing : selects.join(' UNION ALL ')}) AS input`,
        columns: columnsOf(names, (index, name) =>
          all.includes(name) ? { sql: `s${index}`, type: 'VARCHAR' } : undefined,
        ),
        broken: 'false',
      }
    },
  }
}

async function openParquet(files: readonly InputFile[], engine: Engine): Promise<Input> {
  const reader = (some: readonly InputFile[]): string =>
    `read_parquet(${pathsOf(some)}, union_by_name = true, hive_partitioning = false)`
  const types = new Map<string, string>()
  for (const row of await engine.rows(`DESCRIBE SELECT * FROM ${reader(files)}`)) {
    types.set(String(row.column_name), String(row.column_type))
  }
  if (types.size > maxColumns) tooManyColumns()
  const all = [...types.keys()]
  return {
    files,
    knownColumns: all,
    discoverColumns: async () => all,
    relation: (some, names) => {
      const values = names.map((name, index) => {
        const type = types.get(name)
        return `${type === undefined ? 'NULL' : `${identifier(name)}::${type}`} AS s${index}`
      })
      return {
        from: `(SELECT ${values.join(', ')} FROM ${reader(some)}) AS input`,
        columns: columnsOf(names, (index, name) => {
          const type = types.get(name)
          return type === undefined ? undefined : { sql: `s${index}`, type }
        }),
        broken: 'false',
      }
    },
  }
}

/** Opens the files of a task. Throws an invalidInput Failure for a file that does not have the format. */
export async function openInput(
  files: readonly InputFile[],
  format: InputFormat,
  engine: Engine,
): Promise<Input> {
  switch (format.type) {
    case 'json':
      return openJson(files, engine)
    case 'parquet':
      return await openParquet(files, engine)
    default:
      return await openSeparated(files, format)
  }
}
