import type { TimeCondition } from '@svc/domain/querying'
import { eternity, formatInstant, type Interval, parseInterval } from '@svc/domain/time'
import { isJsonObject, type JsonObject } from '@svc/domain/validation'

/** A query's condition on the time of a table's rows. Values are indexes of parser expressions. */
export type WrittenCondition =
  | { readonly kind: 'atLeast' | 'atMost'; readonly expression: number }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly WrittenCondition[] }

const timeColumn = '__time'
// Evaluating a condition with more values costs more than it saves.
const maxExpressions = 200
const maxNodes = 40

// Joins from which rows that do not match the WHERE clause can be omitted without an effect on the result.
const plainJoins = new Set(['REGULAR', 'CROSS'])
const joinTypes = new Set(['INNER', 'LEFT', 'RIGHT', 'OUTER'])

const comparisons: Readonly<Record<string, readonly ('atLeast' | 'atMost')[]>> = {
  COMPARE_EQUAL: ['atLeast', 'atMost'],
  COMPARE_GREATERTHAN: ['atLeast'],
  COMPARE_GREATERTHANOREQUALTO: ['atLeast'],
  COMPARE_LESSTHAN: ['atMost'],
  COMPARE_LESSTHANOREQUALTO: ['atMost'],
}
const opposite = { atLeast: 'atMost', atMost: 'atLeast' } as const

const castTypes = new Set([
  'BIGINT',
  'DATE',
  'DOUBLE',
  'INTEGER',
  'INTERVAL',
  'TIMESTAMP',
  'TIMESTAMP_MS',
  'TIMESTAMP_S',
  'TIMESTAMP WITH TIME ZONE',
])
// With constant arguments, these functions are constant, and their cost does not depend on the values.
const functions = new Set(
  `+ - date_trunc epoch_ms get_current_timestamp make_date make_timestamp millis_to_timestamp now time_ceil time_floor
   time_parse time_shift to_days to_hours to_minutes to_months to_seconds to_timestamp to_weeks to_years trunc`.split(
    /\s+/,
  ),
)

/** Collects the conditions of all SELECTs of a statement on the time of their tables. */
export class TimeConditions {
  /** The parser expressions that conditions compare times with. */
  readonly expressions: JsonObject[] = []
  private readonly byTable = new WeakMap<object, WrittenCondition>()

  /**
   * Returns the condition of a table reference whose SELECT was read before; undefined if rows of any time can match.
   */
  of(table: object): WrittenCondition | undefined {
    return this.byTable.get(table)
  }

  /** Reads the WHERE clause of a SELECT for the tables of its FROM clause. */
  read(select: JsonObject): void {
    const { from_table: from, where_clause: where, sample } = select
    // A sample is taken before the WHERE clause applies.
    if (!isJsonObject(from) || !isJsonObject(where) || sample) return
    const tables = tablesOf(from)
    if (tables === undefined) return
    const names = tables.map(nameOf)
    for (const [index, table] of tables.entries()) {
      const name = names[index] as string
      if (names.indexOf(name) !== names.lastIndexOf(name)) continue
      const isTime = (node: unknown): boolean => {
        if (!isJsonObject(node) || node.class !== 'COLUMN_REF') return false
        const [first, second, ...rest] = (node.column_names as readonly string[]).map((text) =>
          text.toLowerCase(),
        )
        if (rest.length > 0) return false
        // In a join, an unqualified name can be the column of either table.
        if (second === undefined) return first === timeColumn && from === table
        return first === name && second === timeColumn
      }
      const condition = this.conditionOf(where, isTime)
      if (condition) this.byTable.set(table, condition)
    }
  }

  private conditionOf(node: unknown, isTime: (node: unknown) => boolean): WrittenCondition | undefined {
    if (!isJsonObject(node)) return undefined
    const children = (node.children ?? []) as readonly unknown[]
    const is = (kinds: readonly ('atLeast' | 'atMost')[], value: unknown): WrittenCondition | undefined => {
      if (this.expressions.length >= maxExpressions || !isConstant(value)) return undefined
      const expression = this.expressions.push(value as JsonObject) - 1
      return { kind: 'and', parts: kinds.map((kind) => ({ kind, expression })) }
    }
    switch (node.type) {
      case 'CONJUNCTION_AND': {
        const parts = children.flatMap((child) => this.conditionOf(child, isTime) ?? [])
        return parts.length > 0 ? { kind: 'and', parts } : undefined
      }
      case 'CONJUNCTION_OR':
        return any(children.map((child) => this.conditionOf(child, isTime)))
      case 'COMPARE_BETWEEN': {
        if (!isTime(node.input)) return undefined
        const parts = [is(['atLeast'], node.lower), is(['atMost'], node.upper)].filter(
          (part) => part !== undefined,
        )
        return parts.length > 0 ? { kind: 'and', parts } : undefined
      }
      case 'FUNCTION': {
        const [time, interval] = children
        if (String(node.function_name).toLowerCase() !== 'time_in_interval' || !isTime(time)) return undefined
        const parts = boundsOf(interval).flatMap(([kind, value]) => is([kind], value) ?? [])
        return parts.length > 0 ? { kind: 'and', parts } : undefined
      }
      case 'COMPARE_IN':
        return isTime(children[0])
          ? any(children.slice(1).map((value) => is(['atLeast', 'atMost'], value)))
          : undefined
      default: {
        const kinds = comparisons[String(node.type)]
        if (kinds === undefined) return undefined
        if (isTime(node.left)) return is(kinds, node.right)
        if (isTime(node.right))
          return is(
            kinds.map((kind) => opposite[kind]),
            node.left,
          )
        return undefined
      }
    }
  }
}

function intervalOf(text: string): Interval {
  try {
    return parseInterval(text)
  } catch {
    // The function call itself reports what is wrong.
    return eternity
  }
}

/** Returns the bounds of an interval literal, as literals. */
function boundsOf(node: unknown): ['atLeast' | 'atMost', JsonObject][] {
  if (!isJsonObject(node) || node.class !== 'CONSTANT') return []
  const value = node.value as JsonObject
  if (typeof value.value !== 'string') return []
  const { start, end } = intervalOf(value.value)
  return (
    [
      ['atLeast', start],
      ['atMost', end],
    ] as const
  ).flatMap(([kind, instant]) =>
    Number.isFinite(instant) ? [[kind, { ...node, value: { ...value, value: formatInstant(instant) } }]] : [],
  )
}

function any(parts: readonly (WrittenCondition | undefined)[]): WrittenCondition | undefined {
  const known = parts.filter((part) => part !== undefined)
  return known.length === parts.length ? { kind: 'or', parts: known } : undefined
}

/** Returns the tables of a FROM clause; undefined if omitting rows of one can change the rows of others. */
function tablesOf(from: JsonObject): JsonObject[] | undefined {
  if (from.type === 'BASE_TABLE') {
    const { sample, column_name_alias: renamed } = from
    return sample || (renamed as readonly unknown[]).length > 0 ? undefined : [from]
  }
  if (from.type !== 'JOIN') return from.sample ? undefined : []
  const isPlain = plainJoins.has(from.ref_type as string) && joinTypes.has(from.join_type as string)
  const parts = [from.left, from.right].map((part) => (isJsonObject(part) ? tablesOf(part) : undefined))
  return isPlain && !from.sample && parts.every((part) => part !== undefined) ? parts.flat() : undefined
}

const nameOf = ({ alias, table_name: name }: JsonObject): string => String(alias || name).toLowerCase()

/** Returns whether an expression has the same value for all rows and is cheap to evaluate. */
function isConstant(value: unknown): boolean {
  let nodes = 0
  const isMadeOfConstants = (node: unknown): boolean => {
    nodes += 1
    if (!isJsonObject(node) || nodes > maxNodes) return false
    switch (node.class) {
      case 'CONSTANT': {
        const { type, is_null: isNull } = node.value as { type: { id: string }; is_null: boolean }
        return !isNull && (type.id === 'VARCHAR' || type.id === 'INTEGER')
      }
      // The type of a parameter is checked when it is evaluated.
      case 'PARAMETER':
        return true
      case 'CAST':
        return (
          !node.try_cast &&
          castTypes.has((node.cast_type as { id: string }).id) &&
          isMadeOfConstants(node.child)
        )
      case 'FUNCTION':
        return (
          functions.has(String(node.function_name).toLowerCase()) &&
          (node.children as readonly unknown[]).every(isMadeOfConstants)
        )
      default:
        return false
    }
  }
  return isMadeOfConstants(value)
}

/** The value of an expression that a query compares times with, in epoch milliseconds. */
export interface TimeValue {
  readonly ms: number
  /** Max difference from the value that the query itself uses. */
  readonly slackMs: number
}

/** Returns a condition with the values of its expressions, widened by their slack. */
export function withValues(condition: WrittenCondition, values: readonly TimeValue[]): TimeCondition {
  if ('parts' in condition)
    return { kind: condition.kind, parts: condition.parts.map((part) => withValues(part, values)) }
  const { ms, slackMs } = values[condition.expression] as TimeValue
  return condition.kind === 'atLeast'
    ? { kind: 'atLeast', value: Math.floor(ms) - slackMs }
    : { kind: 'atMost', value: Math.ceil(ms) + slackMs }
}
