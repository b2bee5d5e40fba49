import type { TimeCondition } from '@svc/domain/querying'
import { ETERNITY, formatInstant, type Interval, parseInterval } from '@svc/domain/time'
import { isJsonObject, type JsonObject } from '@svc/domain/validation'

/** What a query asks of the time of a table's rows; values are expressions of the parser, by their index. */
export type WrittenCondition =
  | { readonly kind: 'atLeast' | 'atMost'; readonly expression: number }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly WrittenCondition[] }

const timeColumn = '__time'
// A condition of more values costs more to look at than it spares.
const mostExpressions = 200
const mostNodes = 40

// Joins in which a row that fulfils no condition of the WHERE clause on its time leaves no trace when it is left out.
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
// Made of constants they are constants, and what they cost does not depend on the values.
const functions = new Set(
  `+ - date_trunc epoch_ms get_current_timestamp make_date make_timestamp millis_to_timestamp now time_ceil time_floor
   time_parse time_shift to_days to_hours to_minutes to_months to_seconds to_timestamp to_weeks to_years trunc`.split(
    /\s+/,
  ),
)

/** Collects what the SELECTs of a statement ask of the time of their tables. */
export class TimeConditions {
  /** The expressions of the parser that conditions compare with. */
  readonly expressions: JsonObject[] = []
  private readonly byTable = new WeakMap<object, WrittenCondition>()

  /** The condition of a table reference, which its SELECT was read before; undefined where rows of any time may count. */
  of(table: object): WrittenCondition | undefined {
    return this.byTable.get(table)
  }

  /** Reads the WHERE clause of a SELECT for the tables of its FROM clause. */
  read(select: JsonObject): void {
    const { from_table: from, where_clause: where, sample } = select
    // A sample is taken before the WHERE clause holds.
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
        // Where tables are joined, a bare name may stand for the column of either.
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
      if (this.expressions.length >= mostExpressions || !isConstant(value)) return undefined
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
    // The call tells what is wrong with it.
    return ETERNITY
  }
}

/** The ends of an interval that stands as it is in a query, as texts like it. */
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

/** The plain tables of a FROM clause; undefined where leaving rows out of one may change what others show. */
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

/** Whether an expression has the same value for all rows, and one that is found out at once. */
function isConstant(value: unknown): boolean {
  let nodes = 0
  const isMadeOfConstants = (node: unknown): boolean => {
    nodes += 1
    if (!isJsonObject(node) || nodes > mostNodes) return false
    switch (node.class) {
      case 'CONSTANT': {
        const { type, is_null: isNull } = node.value as { type: { id: string }; is_null: boolean }
        return !isNull && (type.id === 'VARCHAR' || type.id === 'INTEGER')
      }
      // Its value is looked at where it is found out: one of time, or it comes to none.
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

/** What an expression that a query compares the time with comes to, in epoch milliseconds. */
export interface TimeValue {
  readonly ms: number
  /** How far it may be from what the query takes it for. */
  readonly slackMs: number
}

/** A condition with the values of its expressions, made wider by what they may be off. */
export function withValues(condition: WrittenCondition, values: readonly TimeValue[]): TimeCondition {
  if ('parts' in condition)
    return { kind: condition.kind, parts: condition.parts.map((part) => withValues(part, values)) }
  const { ms, slackMs } = values[condition.expression] as TimeValue
  return condition.kind === 'atLeast'
    ? { kind: 'atLeast', value: Math.floor(ms) - slackMs }
    : { kind: 'atMost', value: Math.ceil(ms) + slackMs }
}
