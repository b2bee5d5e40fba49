import { isDeepStrictEqual } from 'node:util'
import { Failure, invalidInput } from '@svc/domain/failure'
import type { Interval } from '@svc/domain/time'
import {
  escapeControlCharacters,
  hasControlCharacter,
  isJsonObject,
  type JsonObject,
} from '@svc/domain/validation'
import { literal } from '@svc/shared/duckdb'
import {
  type CallArgument,
  cutFunction,
  definedFunctions,
  type Edit,
  edited,
  FunctionCalls,
  isRewrittenAggregate,
  rewriteAggregate,
  type Shift,
  SqlText,
  supportedFunctions,
  supportedTableFunctions,
  textOf,
} from './functions/index.ts'
import type { Parameter } from './parameter.ts'
import { queryFailure } from './query-failure.ts'
import { TimeConditions, type WrittenCondition } from './time-conditions.ts'

/** A table that a query reads. */
export interface TableReference {
  /** In lower case, empty if the query has none; always `svc` for the schema of the datasources, whatever its name. */
  readonly schema: '' | 'svc' | 'sys' | 'information_schema'
  /** As written in the query. */
  readonly name: string
  /** Offset in the query, in bytes; undefined if unknown. */
  readonly offset: number | undefined
}

/** A table with the query's condition on the time of its rows. */
export interface ReadTable extends TableReference {
  readonly condition: WrittenCondition | undefined
}

/** A parsed query. The values that it compares times with are not yet evaluated. */
export interface ReadStatement {
  readonly tables: readonly ReadTable[]
  readonly text: RunText
  /** The expressions that conditions compare times with, as nodes of the parser. */
  readonly expressions: readonly object[]
  /** The expected parse result of the rewritten query. */
  readonly meant: unknown
}

/** A rewritten query, with DuckDB's names of aggregates and another name for the schema INFORMATION_SCHEMA. */
export interface RunText {
  readonly sql: string
  /** Differences between offsets in the rewritten query and in the submitted one. */
  readonly shifts: readonly Shift[]
  /** Statements that define the functions that the query calls. */
  readonly macros: readonly string[]
}

/** A parsed query. */
export interface Statement {
  readonly tables: readonly (TableReference & {
    /** Sorted intervals that contain the times of all rows that can match; undefined for all of time. */
    readonly times: readonly Interval[] | undefined
  })[]
  readonly text: RunText
}

/** Name of our INFORMATION_SCHEMA in DuckDB. DuckDB's own cannot be replaced, and it shows too much. */
export const informationSchemaName = 'information_schem_'

/** Maximum number of table references in a query. */
const maxTables = 1000

const otherSchemas = ['', 'sys', 'information_schema'] as const

// All other kinds of expressions are rejected, including those of later versions of DuckDB.
const expressionClasses = new Set([
  'BETWEEN',
  'CASE',
  'CAST',
  'COLLATE',
  'COLUMN_REF',
  'COMPARISON',
  'CONJUNCTION',
  'CONSTANT',
  'FUNCTION',
  'LAMBDA',
  'LAMBDA_REF',
  'OPERATOR',
  'PARAMETER',
  'POSITIONAL_REFERENCE',
  'STAR',
  'SUBQUERY',
  'WINDOW',
])
const queryNodes = new Set(['SELECT_NODE', 'SET_OPERATION_NODE', 'RECURSIVE_CTE_NODE', 'CTE_NODE'])
const tableNodes = new Set([
  'BASE_TABLE',
  'EMPTY',
  'EXPRESSION_LIST',
  'JOIN',
  'PIVOT',
  'SUBQUERY',
  'TABLE_FUNCTION',
])

/**
 * Reads a query from DuckDB's parse result as JSON; `word` is the schema of the datasources. Throws an invalidInput
 * Failure, with line and column, for anything other than one SELECT statement with supported parts.
 */
export function readStatement(
  sql: string,
  parsed: string,
  word: string,
  parameters: readonly Parameter[] = [],
): ReadStatement {
  // DuckDB writes a number that exceeds the range of a double as Infinity, which is not valid JSON.
  if (/"value":-?Infinity\b/.test(parsed)) {
    throw invalidInput(
      `The query contains a number that is out of range: expected an absolute value of at most [${Number.MAX_VALUE}]`,
    )
  }
  const answer = JSON.parse(parsed) as JsonObject
  if (answer.error === true) {
    if (answer.error_type === 'not implemented')
      throw invalidInput('Only a single SELECT statement is allowed')
    throw queryFailure(sql, offsetOf(answer.position), String(answer.error_message))
  }
  const statements = answer.statements as readonly unknown[]
  if (statements.length !== 1) {
    throw invalidInput(`The query has [${statements.length}] statements: expected one SELECT statement`)
  }
  const reader = new StatementReader(sql, word, parameters)
  reader.read(statements[0], new Set())
  const text = reader.rewritten()
  return { tables: reader.tables, text, expressions: reader.conditions.expressions, meant: answer }
}

/**
 * Throws an invalidInput Failure if the parse result of the rewritten query differs from the validated one. Locations
 * in the query are found with our own tokens instead of the parser, and a query that misleads them could hide anything.
 */
export function checkRewritten(meant: unknown, parsed: string): void {
  const withoutPlaces = (json: string): unknown =>
    JSON.parse(json, (key, value) => (key === 'query_location' ? undefined : value))
  if (isDeepStrictEqual(withoutPlaces(parsed), withoutPlaces(JSON.stringify(meant)))) return
  throw invalidInput(
    'Cannot locate the functions in the text of the query. Remove comments, escapes, and non-ASCII spaces next to function names',
  )
}

/** Returns the name of a node that looks like a column without a table; undefined for any other node. */
function unitOf(node: unknown): string | undefined {
  if (!isJsonObject(node) || node.class !== 'COLUMN_REF') return undefined
  const names = node.column_names as readonly string[]
  return names.length === 1 && /^[A-Za-z]+$/.test(names[0] as string) ? names[0] : undefined
}

/** Returns whether an argument is a literal or a parameter. */
function isConstant(node: unknown): boolean {
  if (!isJsonObject(node)) return false
  return (
    node.class === 'CONSTANT' ||
    node.class === 'PARAMETER' ||
    (node.class === 'CAST' && isConstant(node.child))
  )
}

const offsetOf = (value: unknown): number | undefined => (value === undefined ? undefined : Number(value))

class StatementReader {
  readonly tables: ReadTable[] = []
  readonly conditions = new TimeConditions()
  private readonly sql: string
  private readonly word: string
  private readonly parameters: readonly Parameter[]
  private readonly calls = new FunctionCalls()
  private readonly edits: Edit[] = []
  private readonly changes: (() => void)[] = []
  private readonly rewrittenPlaces = new Set<unknown>()
  private tokens: SqlText | undefined

  constructor(sql: string, word: string, parameters: readonly Parameter[]) {
    this.sql = sql
    this.word = word
    this.parameters = parameters
  }

  /** Returns the rewritten query. Changes the nodes that were read to the expected parse result. */
  rewritten(): RunText {
    for (const change of this.changes) change()
    const { text, shifts } = edited(this.sql, this.edits)
    return { sql: text, shifts, macros: this.calls.macros() }
  }

  /** Reads a part of the statement; `scope` contains the names of its WITH clauses in lower case. */
  read(value: unknown, scope: ReadonlySet<string>): void {
    if (Array.isArray(value)) {
      for (const item of value) this.read(item, scope)
      return
    }
    if (!isJsonObject(value)) return
    this.checkNames(value)
    let inner = scope
    if (typeof value.class === 'string') this.checkExpression(value)
    else if ('cte_map' in value) inner = this.readQueryNode(value, scope)
    else if ('sample' in value) this.readTable(value, scope)
    for (const [key, child] of Object.entries(value)) {
      if (key === 'cte_map') continue
      if (typeof child === 'object') this.read(child, inner)
    }
  }

  private checkNames(node: JsonObject): void {
    for (const field of ['alias', 'column_names', 'column_name_alias']) {
      const names = node[field]
      for (const name of Array.isArray(names) ? names : [names])
        if (typeof name === 'string') this.checkName(node, name)
    }
  }

  private checkName(node: JsonObject, name: string): void {
    if (hasControlCharacter(name))
      this.refuse(
        node,
        `Invalid name [${escapeControlCharacters(name)}]: expected a name without control characters`,
      )
  }

  /**
   * Records a change of a node and its text. The text changes only once, even if the parser returns several nodes for
   * it.
   */
  private rewrite(node: JsonObject, edits: readonly Edit[], change: () => void): void {
    this.changes.push(change)
    if (this.rewrittenPlaces.has(node.query_location)) return
    this.rewrittenPlaces.add(node.query_location)
    this.edits.push(...edits)
  }

  private text(): SqlText {
    this.tokens ??= new SqlText(this.sql)
    return this.tokens
  }

  private refuse(node: JsonObject, message: string): never {
    throw queryFailure(this.sql, offsetOf(node.query_location), message)
  }

  private checkExpression(node: JsonObject): void {
    const { class: kind, function_name: name } = node
    if (!expressionClasses.has(kind as string)) this.refuse(node, `Unsupported expression [${kind}]`)
    if (kind === 'COLUMN_REF') this.renameSchema(node, (node.column_names as readonly string[])[0] ?? '')
    if (typeof name !== 'string') return
    const isForeign = (node.schema !== '' && node.schema !== 'main') || node.catalog !== ''
    const lower = name.toLowerCase()
    const isTable = this.tableFunctions.has(node)
    if (!isForeign && !isTable && isRewrittenAggregate(lower)) this.rewriteAggregate(node, name)
    else if (!isForeign && !isTable && definedFunctions.has(lower)) this.noteCall(node, lower)
    else if (isForeign || !this.offered(node).has(lower)) this.refuse(node, `Unsupported function [${name}]`)
  }

  private noteCall(node: JsonObject, name: string): void {
    const children = node.children as unknown[]
    const isUnit = (place: number): boolean => place === 0 && name.startsWith('timestamp')
    if (isUnit(0) && children.length === 3) this.quoteUnit(node, children)
    const given = children.map((child, place) => this.argumentOf(child, isUnit(place)))
    try {
      const called = this.calls.add(name, given, children.map(isConstant))
      if (called !== name) this.renameCall(node, name, called)
    } catch (error) {
      if (error instanceof Failure) this.refuse(node, error.message)
      throw error
    }
  }

  private renameCall(node: JsonObject, name: string, called: string): void {
    const offset = Number(node.query_location)
    const token = this.text().tokenAt(offset)
    const extracted = name === 'date_part' ? this.text().extractedUnitAt(offset) : undefined
    const [unit] = node.children as readonly { readonly value: { readonly value: string } }[]
    if (token === undefined || (extracted === undefined && token.text.toLowerCase() !== name))
      throw invalidInput(`Cannot locate function [${name.toUpperCase()}] in the text of the query`)
    const edits = [
      { ...token, text: called },
      ...(extracted ? [{ ...extracted, text: `${literal(String(unit?.value.value))},` }] : []),
    ]
    this.rewrite(node, edits, () => {
      Object.assign(node, { function_name: called, schema: '' })
    })
  }

  /** Quotes the unit of TIMESTAMPADD or TIMESTAMPDIFF, which is written like a column. */
  private quoteUnit(call: JsonObject, children: unknown[]): void {
    const node = children[0] as JsonObject
    const unit = unitOf(node)
    if (unit === undefined) return
    const token = this.text().tokenAt(Number(node.query_location))
    if (token === undefined || (token.text !== unit && token.text !== `"${unit}"`))
      this.refuse(call, `Cannot locate unit [${unit}] in the text of the query`)
    this.rewrite(node, [{ ...token, text: `'${unit}'` }], () => {
      children[0] = textOf(unit)
    })
  }

  private argumentOf(node: unknown, mayBeUnit: boolean): CallArgument {
    if (!isJsonObject(node)) return undefined
    if (node.class === 'CAST') return this.argumentOf(node.child, false) === null ? null : undefined
    if (node.class === 'PARAMETER') {
      const parameter = this.parameters[Number(node.identifier) - 1]
      return parameter && (parameter.value === null ? null : String(parameter.value))
    }
    if (node.class !== 'CONSTANT') return mayBeUnit ? unitOf(node) : undefined
    const {
      type,
      is_null: isNull,
      value,
    } = node.value as { type: { id: string }; is_null: boolean; value?: unknown }
    if (isNull) return null
    return type.id === 'VARCHAR' ? String(value) : undefined
  }

  private rewriteAggregate(node: JsonObject, name: string): void {
    const rewriting = rewriteAggregate(this.text(), node, name, cutFunction)
    if (typeof rewriting === 'string') this.refuse(node, rewriting)
    if (rewriting.cuts) this.calls.addCut()
    this.rewrite(node, rewriting.edits, rewriting.change)
  }

  // The function of a table reference is read right after the reference.
  private tableFunctions = new WeakSet<object>()

  private offered(node: JsonObject): ReadonlySet<string> {
    return this.tableFunctions.has(node) ? supportedTableFunctions : supportedFunctions
  }

  private readQueryNode(node: JsonObject, scope: ReadonlySet<string>): ReadonlySet<string> {
    if (!queryNodes.has(node.type as string)) this.refuse(node, `Unsupported query [${node.type}]`)
    const names = new Set(scope)
    const { map = [] } = node.cte_map as { map?: readonly { key: string; value: JsonObject }[] }
    for (const { key, value } of map) {
      this.checkName(node, key)
      const query = (value.query as JsonObject).node as JsonObject
      // Only a recursive WITH clause can refer to itself.
      const own = query.type === 'RECURSIVE_CTE_NODE' ? new Set([...names, key.toLowerCase()]) : names
      this.read(value, own)
      names.add(key.toLowerCase())
    }
    if (node.type === 'SELECT_NODE') this.conditions.read(node)
    if (typeof node.cte_name === 'string') names.add(node.cte_name.toLowerCase())
    return names
  }

  private readTable(node: JsonObject, scope: ReadonlySet<string>): void {
    const { type } = node
    if (!tableNodes.has(type as string))
      this.refuse(
        node,
        `Unsupported statement or table expression [${type}]: expected a SELECT statement or a table`,
      )
    if (type === 'TABLE_FUNCTION' && isJsonObject(node.function)) this.tableFunctions.add(node.function)
    if (type !== 'BASE_TABLE') return
    const name = node.table_name as string
    const written = node.schema_name as string
    const lower = written.toLowerCase()
    const schema = lower === this.word ? 'svc' : otherSchemas.find((known) => known === lower)
    if (node.catalog_name !== '' || schema === undefined || node.at_clause) {
      const full = [node.catalog_name, written, name].filter(Boolean).join('.')
      this.refuse(node, `Table [${full}] does not exist`)
    }
    if (schema === '' && scope.has(name.toLowerCase())) return
    if (schema === 'information_schema' && !this.renameSchema(node, written))
      this.refuse(node, `Cannot locate table [${written}.${name}] in the text of the query`)
    if (this.tables.length === maxTables)
      this.refuse(node, `Too many tables in the query: expected at most [${maxTables}]`)
    const condition = this.conditions.of(node)
    this.tables.push({ schema, name, offset: offsetOf(node.query_location), condition })
  }

  /** Replaces INFORMATION_SCHEMA with our name for it. Returns false if the query does not have it at that offset. */
  private renameSchema(node: JsonObject, written: string): boolean {
    if (written.toLowerCase() !== 'information_schema') return false
    const token = this.text().tokenAt(Number(node.query_location))
    const isQuoted = token?.text.startsWith('"')
    if (token === undefined || token.text !== (isQuoted ? `"${written}"` : written)) return false
    this.rewrite(node, [{ ...token, text: informationSchemaName }], () => {
      if (node.class === 'COLUMN_REF') (node.column_names as string[])[0] = informationSchemaName
      else Object.assign(node, { schema_name: informationSchemaName })
    })
    return true
  }
}
