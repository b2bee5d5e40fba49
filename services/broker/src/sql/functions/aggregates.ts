import { isJsonObject, type JsonObject } from '@svc/domain/validation'
import { identifier } from '@svc/shared/duckdb'
import { callOf, columnOf } from './parsed.ts'
import type { Edit, SqlText } from './sql-text.ts'

/** An aggregate that has another name in DuckDB. */
interface RewrittenAggregate {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Index of the argument with the max number of bytes of strings. */
  readonly bytesAt?: number
  /** Whether rows are ordered by `__time`. */
  readonly byTime?: boolean
}

const aggregates: Readonly<Record<string, RewrittenAggregate>> = {
  earliest: { name: 'arg_min_null', min: 1, max: 2, bytesAt: 1, byTime: true },
  latest: { name: 'arg_max_null', min: 1, max: 2, bytesAt: 1, byTime: true },
  earliest_by: { name: 'arg_min_null', min: 2, max: 3, bytesAt: 2 },
  latest_by: { name: 'arg_max_null', min: 2, max: 3, bytesAt: 2 },
  any_value: { name: 'any_value', min: 1, max: 2, bytesAt: 1 },
  approx_count_distinct_builtin: { name: 'approx_count_distinct', min: 1, max: 1 },
  approx_count_distinct_ds_hll: { name: 'approx_count_distinct', min: 1, max: 1 },
  approx_count_distinct_ds_theta: { name: 'approx_count_distinct', min: 1, max: 1 },
}

/** Returns whether a function, by its name in lower case, is an aggregate that must be rewritten. */
export const isRewrittenAggregate = (name: string): boolean => Object.hasOwn(aggregates, name)

/** Changes of the text and of the parser's node that rewrite a call of such an aggregate for DuckDB. */
export interface AggregateRewriting {
  readonly edits: readonly Edit[]
  /** Whether strings are truncated. */
  readonly cuts: boolean
  change(): void
}

/**
 * Returns how to rewrite a call of such an aggregate, a node of the parser, for DuckDB, or an error message. `cut` is
 * the function that truncates a string to a number of bytes.
 */
export function rewriteAggregate(
  text: SqlText,
  node: JsonObject,
  written: string,
  cut: string,
): AggregateRewriting | string {
  const call = text.callAt(Number(node.query_location))
  const aggregate = aggregates[written.toLowerCase()] as RewrittenAggregate
  if (call === undefined || call.name.text.toLowerCase() !== written.toLowerCase())
    return `Cannot locate function [${written}] in the text of the query`
  const { min, max, bytesAt, byTime } = aggregate
  const { arguments: given, name, end } = call
  const children = node.children as unknown[]
  if (given.length < min || given.length > max)
    return `Invalid number of arguments [${given.length}] for function [${written}]: expected ${min === max ? min : `${min} to ${max}`}`
  const { orders } = (node.order_bys ?? { orders: [] }) as { readonly orders: readonly unknown[] }
  if (aggregate.name.startsWith('arg_') && orders.length > 0)
    return `Function [${written}] has an ORDER BY: expected none, because the function already orders rows by ${byTime ? '__time' : 'its second argument'}`
  const [value] = given as readonly [Edit]
  const edits: Edit[] = [{ ...name, text: aggregate.name }]
  const insert = (start: number, inserted: string): void => {
    edits.push({ start, end: start, text: inserted })
  }
  const bytes = bytesAt === undefined ? undefined : given[bytesAt]
  if (bytes !== undefined) {
    if (!/^[1-9]\d{0,8}$/.test(bytes.text))
      return `Invalid value [${bytes.text}] for the max bytes argument of function [${written}]: expected an integer from 1 to 999999999`
    const before = /^(?:distinct|all)\b/i.exec(value.text)?.[0].length ?? 0
    insert(value.start + before, before > 0 ? ` ${cut}(` : `${cut}(`)
    insert(value.end, `, ${bytes.text})`)
    edits.push({ start: (given[(bytesAt as number) - 1] as Edit).end, end: bytes.end, text: '' })
  }
  const time = byTime ? timeColumnOf(children[0]) : undefined
  if (time !== undefined) insert(end, `, ${time.map((part) => identifier(part)).join('.')}`)
  const change = (): void => {
    Object.assign(node, { function_name: aggregate.name })
    if (bytes !== undefined) {
      const [limit] = children.splice(bytesAt as number, 1)
      children[0] = callOf(cut, [children[0], limit])
    }
    if (time !== undefined) children.push(columnOf(time))
  }
  return { edits, cuts: bytes !== undefined, change }
}

/** Returns the path of the time column in the table of a column; joined tables have one each. */
function timeColumnOf(value: unknown): readonly string[] {
  const names =
    isJsonObject(value) && value.class === 'COLUMN_REF' ? (value.column_names as readonly string[]) : []
  return [...names.slice(0, -1), '__time']
}
