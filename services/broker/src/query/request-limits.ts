import { invalidInput } from '@svc/domain/failure'
import { isJsonObject } from '@svc/domain/validation'
import { type Parser, shapedParser } from '@svc/shared/wire'

/** Maximum number of entries of lists in a query, and of keys of its context. */
const maxEntriesOf = {
  parameters: 10_000,
  columns: 10_000,
  intervals: 10_000,
  context: 1000,
} as const
// Each datasource takes queries of the metadata store.
const maxDatasources = 100
// A longer name is repeated in every batch of rows.
const maxColumnNameLength = 1000

/** Throws an invalidInput failure if a query reads more datasources than allowed. */
export function assertMaxDatasources(count: number): void {
  if (count <= maxDatasources) return
  throw invalidInput(`Invalid number of datasources in the query: expected at most [${maxDatasources}]`)
}

/** Throws an invalidInput failure if a list has more entries than allowed. `field` is the path to it. */
function assertMaxEntries(field: string, entries: number, maxEntries: number, kind = 'entries'): void {
  if (entries <= maxEntries) return
  throw invalidInput(
    `Invalid number of ${kind} [${entries}] for [${field}]: expected at most [${maxEntries}]`,
    { field },
  )
}

/** The number of entries of a list or keys of an object; those of the list within an intervals spec. */
function entriesOf(member: unknown): number {
  if (Array.isArray(member)) return member.length
  if (!isJsonObject(member)) return 0
  return Array.isArray(member.intervals) ? member.intervals.length : Object.keys(member).length
}

/** A parser that checks the sizes of the members of a query before it looks at what is in them. */
export function limitedParser<Value>(parse: Parser<Value>): Parser<Value> {
  return shapedParser(parse.shape, (json) => {
    if (isJsonObject(json)) {
      for (const [field, maxEntries] of Object.entries(maxEntriesOf))
        assertMaxEntries(field, entriesOf(json[field]), maxEntries)
      assertColumnNames(json.columns)
      assertMaxEntries('filter', filterIntervals(json.filter), maxEntriesOf.intervals, 'intervals')
    }
    return parse(json)
  })
}

function assertColumnNames(columns: unknown): void {
  if (!Array.isArray(columns)) return
  for (const [index, name] of columns.entries()) {
    if (typeof name !== 'string' || name.length <= maxColumnNameLength) continue
    const field = `columns[${index}]`
    throw invalidInput(
      `Invalid length [${name.length}] of [${field}]: expected at most [${maxColumnNameLength}] characters`,
      { field },
    )
  }
}

/** The number of intervals in all parts of a filter. */
function filterIntervals(filter: unknown): number {
  let count = 0
  const parts = [filter]
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (!isJsonObject(part)) continue
    const { fields, field, intervals } = part
    if (Array.isArray(intervals)) count += intervals.length
    if (Array.isArray(fields)) for (const one of fields) parts.push(one)
    if (field !== undefined) parts.push(field)
  }
  return count
}
