import {
  nativeScalarType,
  type QueryOrder,
  type QuerySession,
  type RunText,
  withWrittenNames,
} from '@svc/shared/query'
import { ownText } from './own-text.ts'
import { rowsOf } from './rows-of.ts'

const explainPrefix = /^(?:\s|--.*\n|\/\*[\s\S]*?\*\/)*EXPLAIN\s+PLAN\s+FOR(?=\s)/i

/** The query that `EXPLAIN PLAN FOR` asks about, with everything at its place; undefined for any other. */
export function withoutExplain(sql: string): string | undefined {
  const prefix = explainPrefix.exec(sql)?.[0]
  return prefix === undefined ? undefined : prefix.replace(/\S/g, ' ') + sql.slice(prefix.length)
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
 * The order that tells what another would do, in the columns of the recorded system: the query as it is run with the
 * columns of its answer, and what it reads.
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
  const told = {
    PLAN: [{ query: { queryType: 'sql', query: sql.trim() }, signature }],
    RESOURCES: datasources.map((name) => ({ name, type: 'DATASOURCE' })),
    ATTRIBUTES: { statementType: 'SELECT' },
  }
  return {
    ...order,
    ...ownText(
      `SELECT ${Object.keys(told)
        .map((name) => `?::VARCHAR AS "${name}"`)
        .join(', ')}`,
    ),
    parameters: Object.values(told).map((value) => ({ type: 'VARCHAR', value: JSON.stringify(value) })),
    datasources: [],
    systemTables: [],
  }
}
