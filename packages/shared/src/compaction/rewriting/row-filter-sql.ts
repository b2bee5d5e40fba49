import type { RowFilter } from '@svc/domain/compaction'
import { parseInterval } from '@svc/domain/time'
import { instantLiteral, literal } from '../../duckdb/index.ts'
import type { StoredType } from '../../ingestion/index.ts'

/** A column that a filter refers to: SQL for its value, and its type. */
export interface FilterColumn {
  readonly sql: string
  readonly type: StoredType | 'time'
}

type FilterValue = string | number

const numberSql = (column: FilterColumn): string =>
  column.type === 'time' ? `epoch_ms(${column.sql})` : `TRY_CAST(${column.sql} AS DOUBLE)`
const textSql = (column: FilterColumn): string =>
  column.type === 'time' ? `CAST(epoch_ms(${column.sql}) AS VARCHAR)` : `CAST(${column.sql} AS VARCHAR)`
const isNumber = ({ type }: FilterColumn): boolean => type !== 'string' && type !== 'boolean'
const numberLiteral = (value: FilterValue): string => `TRY_CAST(${literal(String(value))} AS DOUBLE)`

/**
 * Returns a SQL condition that is true for the rows that match a filter. `columnOf` resolves a column name; it returns
 * undefined for a missing column. As in SQL, a comparison with null is neither true nor false.
 */
export function rowFilterSql(
  filter: RowFilter,
  columnOf: (name: string) => FilterColumn | undefined,
): string {
  const column = (name: string): FilterColumn => columnOf(name) ?? { sql: 'NULL', type: 'string' }
  const compare = (name: string, operator: string, value: FilterValue, numeric: boolean): string =>
    numeric
      ? `${numberSql(column(name))} ${operator} ${numberLiteral(value)}`
      : `${textSql(column(name))} ${operator} ${literal(String(value))}`
  const between = (
    name: string,
    { lower, upper }: { lower?: FilterValue | undefined; upper?: FilterValue | undefined },
    [lowerOpen, upperOpen]: readonly (boolean | undefined)[],
    numeric: boolean,
  ): string =>
    [
      lower === undefined ? [] : [compare(name, lowerOpen ? '>' : '>=', lower, numeric)],
      upper === undefined ? [] : [compare(name, upperOpen ? '<' : '<=', upper, numeric)],
    ]
      .flat()
      .join(' AND ')
  const inner = (other: RowFilter): string => rowFilterSql(other, columnOf)

  switch (filter.type) {
    case 'true':
    case 'false':
      return filter.type
    case 'and':
    case 'or':
      return `(${filter.fields.map(inner).join(` ${filter.type.toUpperCase()} `)})`
    case 'not':
      return `(NOT ${inner(filter.field)})`
    case 'null':
      return `(${column(filter.column).sql} IS NULL)`
    case 'selector':
      return filter.value === undefined
        ? `(${column(filter.dimension).sql} IS NULL)`
        : `(${compare(filter.dimension, '=', filter.value, isNumber(column(filter.dimension)))})`
    case 'equals':
      return `(${compare(filter.column, '=', filter.matchValue, filter.matchValueType !== 'STRING')})`
    case 'in':
      return `(${isOneOfSql(column(filter.dimension), filter.values)})`
    case 'bound': {
      const { dimension, lowerStrict, upperStrict, ordering } = filter
      return `(${between(dimension, filter, [lowerStrict, upperStrict], ordering === 'numeric')})`
    }
    case 'range': {
      const { column: name, lowerOpen, upperOpen, matchValueType } = filter
      return `(${between(name, filter, [lowerOpen, upperOpen], matchValueType !== 'STRING')})`
    }
    case 'like': {
      const escaped = filter.escape === undefined ? '' : ` ESCAPE ${literal(filter.escape)}`
      return `(${textSql(column(filter.dimension))} LIKE ${literal(filter.pattern)}${escaped})`
    }
    case 'interval':
      return `(${filter.intervals.map((text) => isWithinSql(column('__time'), text)).join(' OR ')})`
  }
}

/** Returns the condition that a column has one of the values. Null is a value like the others. */
function isOneOfSql(column: FilterColumn, values: readonly (FilterValue | null)[]): string {
  const numeric = isNumber(column)
  const given = values.filter((value) => value !== null)
  const list = given.map((value) => (numeric ? numberLiteral(value) : literal(String(value))))
  const found =
    list.length === 0 ? 'false' : `${numeric ? numberSql(column) : textSql(column)} IN (${list.join(', ')})`
  return given.length === values.length ? found : `${found} OR ${column.sql} IS NULL`
}

/** Returns the condition that a time is within an interval. */
function isWithinSql({ sql }: FilterColumn, interval: string): string {
  const { start, end } = parseInterval(interval)
  const bounds = [
    Number.isFinite(start) ? [`${sql} >= ${instantLiteral(start)}`] : [],
    Number.isFinite(end) ? [`${sql} < ${instantLiteral(end)}`] : [],
  ].flat()
  return bounds.length === 0 ? 'true' : `(${bounds.join(' AND ')})`
}

/** Returns the names of the columns that a filter refers to. */
export function filterColumns(filter: RowFilter): string[] {
  if ('fields' in filter) return filter.fields.flatMap(filterColumns)
  if ('field' in filter) return filterColumns(filter.field)
  if ('dimension' in filter) return [filter.dimension]
  return 'column' in filter ? [filter.column] : []
}
