import type { Edit, SqlText } from './sql-text.ts'

/** An aggregate that DuckDB has under another name. */
interface RewrittenAggregate {
  readonly name: string
  readonly least: number
  readonly most: number
  /** The place of the number of bytes that its texts are cut to. */
  readonly bytesAt?: number
  /** Rows are taken in the order of `__time`. */
  readonly byTime?: boolean
}

const aggregates: Readonly<Record<string, RewrittenAggregate>> = {
  earliest: { name: 'arg_min_null', least: 1, most: 2, bytesAt: 1, byTime: true },
  latest: { name: 'arg_max_null', least: 1, most: 2, bytesAt: 1, byTime: true },
  earliest_by: { name: 'arg_min_null', least: 2, most: 3, bytesAt: 2 },
  latest_by: { name: 'arg_max_null', least: 2, most: 3, bytesAt: 2 },
  any_value: { name: 'any_value', least: 1, most: 2, bytesAt: 1 },
  approx_count_distinct_builtin: { name: 'approx_count_distinct', least: 1, most: 1 },
  approx_count_distinct_ds_hll: { name: 'approx_count_distinct', least: 1, most: 1 },
  approx_count_distinct_ds_theta: { name: 'approx_count_distinct', least: 1, most: 1 },
}

/** Whether a function is an aggregate that has to be written otherwise; its name is in lower case. */
export const isRewrittenAggregate = (name: string): boolean => Object.hasOwn(aggregates, name)

/**
 * The edits that turn the call of such an aggregate at an offset into one that DuckDB has, or what is wrong with it.
 * `cut` is the function that cuts a text to a number of bytes.
 */
export function aggregateEdits(text: SqlText, offset: number, written: string, cut: string): Edit[] | string {
  const call = text.callAt(offset)
  const aggregate = aggregates[written.toLowerCase()] as RewrittenAggregate
  if (call === undefined || call.name.text.toLowerCase() !== written.toLowerCase())
    return `Function [${written}] cannot be found in the text of the query`
  const { least, most, bytesAt, byTime } = aggregate
  const { arguments: given, name, end } = call
  if (given.length < least || given.length > most)
    return `Function [${written}] has [${given.length}] arguments; allowed are ${least === most ? least : `${least} to ${most}`}`
  const [value] = given as readonly [Edit]
  const edits: Edit[] = [{ ...name, text: aggregate.name }]
  const insert = (start: number, inserted: string): void => {
    edits.push({ start, end: start, text: inserted })
  }
  const bytes = bytesAt === undefined ? undefined : given[bytesAt]
  let after = ''
  if (bytes !== undefined) {
    if (!/^[1-9]\d{0,8}$/.test(bytes.text))
      return `Function [${written}] has [${bytes.text}] for the most bytes; allowed is a whole number from 1`
    const distinct = /^distinct\b/i.exec(value.text)?.[0].length ?? 0
    insert(value.start + distinct, distinct > 0 ? ` ${cut}(` : `${cut}(`)
    insert(value.end, `, ${bytes.text})`)
    edits.push({ start: (given[(bytesAt as number) - 1] as Edit).end, end: bytes.end, text: '' })
  }
  if (byTime) {
    // Of joined tables, the time is that of the table whose column it is.
    const table = /^((?:[A-Za-z_]\w*|"[^"]+")\s*\.)\s*(?:[A-Za-z_]\w*|"[^"]+")$/.exec(value.text)?.[1] ?? ''
    after = `, ${table}__time`
  }
  if (after !== '') insert(end, after)
  return edits
}
