import { nativeScalarType, type QueryOrder, type QuerySession } from '../query-processes/index.ts'
import { type RunText, withWrittenNames } from '../sql/index.ts'
import { ownText } from './own-text.ts'
import { rowsOf } from './rows-of.ts'

/** Returns the length of the white space and comments at the start of a query. Takes linear time. */
function leadingGap(sql: string): number {
  const gap = /\s+|--.*\n|\/\*[\s\S]*?\*\//y
  let length = 0
  while (gap.test(sql)) length = gap.lastIndex
  return length
}

/**
 * Returns the query after `EXPLAIN PLAN FOR`, padded with spaces so that offsets stay the same. Returns undefined for
 * any other query.
 */
export function withoutExplain(sql: string): string | undefined {
  const explainKeywords = /EXPLAIN\s+PLAN\s+FOR(?=\s)/iy
  explainKeywords.lastIndex = leadingGap(sql)
  if (!explainKeywords.test(sql)) return undefined
  const { lastIndex } = explainKeywords
  return sql.slice(0, lastIndex).replace(/\S/g, ' ') + sql.slice(lastIndex)
}

const describe = 'DESCRIBE '

const describing = ({ sql, shifts, macros }: RunText): RunText => ({
  sql: describe + sql,
  shifts: [
    { offset: describe.length, bytes: describe.length },
    ...shifts.map(({ offset, bytes }) => ({ offset: offset + describe.length, bytes })),
  ],
  macros,
})

/**
 * Returns the order that explains another one, with the columns of Druid: the query with the columns of its result, and
 * the datasources that it reads.
 */
export async function explain(
  session: QuerySession,
  order: QueryOrder,
  sql: string,
  datasources: readonly string[],
): Promise<QueryOrder> {
  const columns = await rowsOf(session, {
    ...order,
    text: describing(order.text),
  })
  const signature = columns.map((column) => ({
    name: withWrittenNames(String(column.column_name)),
    type: nativeScalarType(String(column.column_type)),
  }))
  const plan = {
    PLAN: [{ query: { queryType: 'sql', query: sql.trim() }, signature }],
    RESOURCES: datasources.map((name) => ({ name, type: 'DATASOURCE' })),
    ATTRIBUTES: { statementType: 'SELECT' },
  }
  return {
    ...order,
    ...ownText(
      `SELECT ${Object.keys(plan)
        .map((name) => `?::VARCHAR AS "${name}"`)
        .join(', ')}`,
    ),
    parameters: Object.values(plan).map((value) => ({ type: 'VARCHAR', value: JSON.stringify(value) })),
    datasources: [],
    systemTables: [],
  }
}
