import { joinIntervals, parseInterval } from '@svc/domain/time'
import { hasControlCharacter, isJsonObject, type JsonObject, refuse } from '@svc/domain/validation'
import { identifier, instantLiteral, literal } from '@svc/shared/duckdb'

/** The columns of a datasource with their DuckDB types. */
export type ColumnTypes = ReadonlyMap<string, string>

const filterTypes = [
  'selector',
  'equals',
  'null',
  'in',
  'bound',
  'range',
  'like',
  'interval',
  'and',
  'or',
  'not',
  'true',
  'false',
]
const maxDepth = 50

/** Returns SQL that is true for the rows that match a native filter. Errors show `path` as its field. */
export function filterSql(filter: unknown, columns: ColumnTypes, path = 'filter'): string {
  if (path.split('.').length > maxDepth) throw refuse(path, '', `at most ${maxDepth} levels of filters`)
  if (!isJsonObject(filter)) throw refuse(path, filter, 'a filter (an object with the field [type])')
  const inner = (value: unknown, at: string): string => filterSql(value, columns, `${path}.${at}`)
  switch (filter.type) {
    case 'selector':
      return selectorSql(filter, columns, path)
    case 'equals':
      return `(${columnSql(filter, 'column', columns, path)} = ${valueSql(filter.matchValue, `${path}.matchValue`)})`
    case 'null':
      return `(${columnSql(filter, 'column', columns, path)} IS NULL)`
    case 'in':
      return inSql(filter, columns, path)
    case 'bound':
      return boundSql(filter, columns, path)
    case 'range':
      return rangeSql(filter, columns, path)
    case 'like':
      return likeSql(filter, columns, path)
    case 'interval':
      return intervalSql(filter, columns, path)
    case 'and':
    case 'or': {
      const { fields } = filter
      if (!Array.isArray(fields)) throw refuse(`${path}.fields`, fields, 'a list of filters')
      const parts = fields.map((field, index) => inner(field, `fields[${index}]`))
      if (parts.length === 0) return filter.type === 'and' ? 'true' : 'false'
      return `(${parts.join(filter.type === 'and' ? ' AND ' : ' OR ')})`
    }
    case 'not':
      // A comparison with null is neither true nor false, so NOT does not match null either, as in Druid 37.
      return `(NOT ${inner(filter.field, 'field')})`
    case 'true':
    case 'false':
      return filter.type
    default:
      throw refuse(`${path}.type`, filter.type, `one of [${filterTypes.join(', ')}]`)
  }
}

/** Returns the SQL for a column. A column that the datasource does not have is null. */
function columnSql(filter: JsonObject, field: string, columns: ColumnTypes, path: string): string {
  const name = filter[field]
  if (typeof name !== 'string' || hasControlCharacter(name))
    throw refuse(`${path}.${field}`, name, 'a column name without control characters')
  if (filter.extractionFn !== undefined && filter.extractionFn !== null)
    throw refuse(`${path}.extractionFn`, filter.extractionFn, 'no extraction function')
  const type = columns.get(name)
  if (type === undefined) return 'NULL::VARCHAR'
  return type.startsWith('TIMESTAMP') ? `epoch_ms(${identifier(name)})` : identifier(name)
}

const asText = (column: string): string => `CAST(${column} AS VARCHAR)`

function valueSql(value: unknown, path: string): string {
  if (typeof value === 'string') return literal(value)
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  if (typeof value === 'boolean') return String(value)
  throw refuse(path, value, 'a string, number, or boolean')
}

function selectorSql(filter: JsonObject, columns: ColumnTypes, path: string): string {
  const column = columnSql(filter, 'dimension', columns, path)
  const { value } = filter
  // Without a value, the filter matches null, as in Druid 37.
  if (value === null || value === undefined) return `(${column} IS NULL)`
  return `(${asText(column)} = ${literal(String(value))})`
}

function inSql(filter: JsonObject, columns: ColumnTypes, path: string): string {
  const field = filter.column === undefined ? 'dimension' : 'column'
  const column = asText(columnSql(filter, field, columns, path))
  const { values } = filter
  if (!Array.isArray(values)) throw refuse(`${path}.values`, values, 'a list of values')
  const present = values.filter((value) => value !== null).map((value) => literal(String(value)))
  const parts = [
    ...(present.length > 0 ? [`${column} IN (${present.join(', ')})`] : []),
    ...(present.length < values.length ? [`${column} IS NULL`] : []),
  ]
  return parts.length > 0 ? `(${parts.join(' OR ')})` : 'false'
}

function boundSql(filter: JsonObject, columns: ColumnTypes, path: string): string {
  const column = columnSql(filter, 'dimension', columns, path)
  const isNumeric = filter.ordering === 'numeric'
  if (![undefined, null, 'lexicographic', 'numeric'].includes(filter.ordering as string | undefined | null))
    throw refuse(`${path}.ordering`, filter.ordering, 'one of [lexicographic, numeric]')
  const compared = isNumeric ? `TRY_CAST(${column} AS DOUBLE)` : asText(column)
  const side = (field: 'lower' | 'upper', strict: unknown, operator: '>' | '<'): string[] => {
    const value = filter[field]
    if (value === undefined || value === null) return []
    const number = Number(value)
    if (isNumeric && !Number.isFinite(number)) throw refuse(`${path}.${field}`, value, 'a number')
    return [
      `${compared} ${operator}${strict === true ? '' : '='} ${isNumeric ? number : literal(String(value))}`,
    ]
  }
  const parts = [...side('lower', filter.lowerStrict, '>'), ...side('upper', filter.upperStrict, '<')]
  return parts.length > 0 ? `(${parts.join(' AND ')})` : 'true'
}

function rangeSql(filter: JsonObject, columns: ColumnTypes, path: string): string {
  const column = columnSql(filter, 'column', columns, path)
  const side = (field: 'lower' | 'upper', isOpen: unknown, operator: '>' | '<'): string[] => {
    const value = filter[field]
    if (value === undefined || value === null) return []
    return [`${column} ${operator}${isOpen === true ? '' : '='} ${valueSql(value, `${path}.${field}`)}`]
  }
  const parts = [...side('lower', filter.lowerOpen, '>'), ...side('upper', filter.upperOpen, '<')]
  if (parts.length === 0) throw refuse(`${path}.lower`, filter.lower, 'a value for [lower] or [upper]')
  return `(${parts.join(' AND ')})`
}

function likeSql(filter: JsonObject, columns: ColumnTypes, path: string): string {
  const column = asText(columnSql(filter, 'dimension', columns, path))
  const { pattern, escape: mark } = filter
  if (typeof pattern !== 'string') throw refuse(`${path}.pattern`, pattern, 'a LIKE pattern')
  if (mark === undefined || mark === null) return `(${column} LIKE ${literal(pattern)})`
  if (typeof mark !== 'string' || mark.length !== 1)
    throw refuse(`${path}.escape`, mark, 'a single character')
  return `(${column} LIKE ${literal(pattern)} ESCAPE ${literal(mark)})`
}

function intervalSql(filter: JsonObject, columns: ColumnTypes, path: string): string {
  const column = columnSql(filter, 'dimension', columns, path)
  const { intervals } = filter
  if (!Array.isArray(intervals)) throw refuse(`${path}.intervals`, intervals, 'a list of intervals')
  const times = intervals.map((text, index) => parseInterval(String(text), `${path}.intervals[${index}]`))
  const parts = joinIntervals(times).map(({ start, end }) => {
    const number = `TRY_CAST(${column} AS BIGINT)`
    const bounds = [
      ...(Number.isFinite(start) ? [`${number} >= ${start}`] : []),
      ...(Number.isFinite(end) ? [`${number} < ${end}`] : []),
    ]
    return bounds.length > 0 ? `(${bounds.join(' AND ')})` : 'true'
  })
  return parts.length > 0 ? `(${parts.join(' OR ')})` : 'false'
}

/** Returns SQL that is true for rows in any of the intervals. */
export function intervalsSql(intervals: readonly { start: number; end: number }[]): string {
  const parts = intervals.map(({ start, end }) => {
    const bounds = [
      ...(Number.isFinite(start) ? [`__time >= ${instantLiteral(start)}`] : []),
      ...(Number.isFinite(end) ? [`__time < ${instantLiteral(end)}`] : []),
    ]
    return bounds.length > 0 ? `(${bounds.join(' AND ')})` : 'true'
  })
  return parts.length > 0 ? `(${parts.join(' OR ')})` : 'false'
}
