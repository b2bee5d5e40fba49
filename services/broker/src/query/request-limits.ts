import { invalidInput } from '@svc/domain/failure'
import { described, isJsonObject, type Reader } from '@svc/domain/validation'

/** Maximum number of entries in each list of a query, and of keys in its context. */
const maxEntriesOf = {
  parameters: 10_000,
  columns: 10_000,
  intervals: 10_000,
  context: 1000,
} as const
// Each datasource costs queries to the metadata store.
const maxDatasources = 100
// Column names are repeated in every batch of rows.
const maxColumnNameLength = 1000

/** Throws invalidInput if a query reads too many datasources. */
export function assertMaxDatasources(count: number): void {
  if (count <= maxDatasources) return
  throw invalidInput(`Too many datasources in the query: expected at most [${maxDatasources}]`)
}

/** Throws invalidInput if a list has too many entries. `field` is the path of the list. */
function assertMaxEntries(field: string, entries: number, maxEntries: number, kind = 'entries'): void {
  if (entries <= maxEntries) return
  throw invalidInput(`Too many ${kind} [${entries}] in [${field}]: expected at most [${maxEntries}]`, {
    field,
  })
}

/** Returns the number of entries of a list, of intervals in an intervals spec, or of keys of any other object. */
function entriesOf(member: unknown): number {
  if (Array.isArray(member)) return member.length
  if (!isJsonObject(member)) return 0
  return Array.isArray(member.intervals) ? member.intervals.length : Object.keys(member).length
}

/** Returns a reader that checks the sizes of the fields of a query before it reads their content. */
export function limited<Value>(read: Reader<Value>): Reader<Value> {
  return described(read, (json, field, problems) => {
    if (isJsonObject(json)) {
      for (const [field, maxEntries] of Object.entries(maxEntriesOf))
        assertMaxEntries(field, entriesOf(json[field]), maxEntries)
      assertColumnNames(json.columns)
      assertMaxEntries('filter', filterIntervals(json.filter), maxEntriesOf.intervals, 'intervals')
    }
    return read(json, field, problems)
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

/** Returns the number of intervals in a filter, including nested filters. */
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
