// DuckDB's parser does not return where an expression ends, so we locate functions with our own tokens. These queries
// try to mislead them, so that DuckDB would run something other than what was validated.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestQueries } from '../query-processes/test-queries.ts'
import { checkRewritten } from './read-statement.ts'

const { query, writeParquet } = await openTestQueries()
await writeParquet(
  'a.parquet',
  `SELECT TIMESTAMP_MS '2026-01-01 00:00:00' AS __time, DATE '2026-01-01' AS date, 'a' AS page`,
)
const files = ['a.parquet']

const misread = /Cannot locate the functions in the text of the query/

describe('a query with misleading tokens cannot call unsupported functions', () => {
  const unoffered = '(SELECT count(*) FROM duckdb_settings())'
  const hidden = `, ${unoffered}) FROM wiki --`
  const spaces = (count: number): string => '\u00a0'.repeat(count)
  const spacesBefore = `SELECT ${spaces(4)}'zz${hidden}', timestampadd(DAY, 1, __time) FROM wiki`
  const cases: readonly (readonly [sql: string, rows: readonly unknown[] | RegExp])[] = [
    [`SELECT latest(date --\r'\n, 10) , ${unoffered} FROM wiki --') FROM wiki`, /invalid date field/],
    [`SELECT latest(concat(page, e'a'\n'\\'), 10) ${hidden}'), 5) FROM wiki`, misread],
    // A comment ends at a carriage return, and a string follows.
    [`SELECT page --\r, '\n, ${unoffered} FROM wiki --' FROM wiki`, [['a', `\n, ${unoffered} FROM wiki --`]]],
    [spacesBefore, [[`zz${hidden}`, '2026-01-02T00:00:00.000Z']]],
    [
      `SELECT '${spaces(3)}', timestampadd(DAY, 1, __time)${spaces(1)}FROM wiki`,
      [[spaces(3), '2026-01-02T00:00:00.000Z']],
    ],
    [`SELECT e'a'\n'\\'b', latest(page, 1), ', ${unoffered} --' FROM wiki`, /Line/],
    [
      `SELECT e'a'\n'\\', latest(page, 1), ${unoffered} --' FROM wiki`,
      [[`a', latest(page, 1), ${unoffered} --`]],
    ],
    [`SELECT 1a$x$, latest(page), '$x$, latest(page)' FROM wiki`, [[1, 'a', '$x$, latest(page)']]],
    [`SELECT page\u00a0$$ FROM wiki --$$, latest(page) FROM wiki`, /Line/],
    ["SELECT CASE latest(page, 1) WHEN 'b' THEN 1 WHEN 'a' THEN 2 END FROM wiki", [[2]]],
  ]
  for (const [sql, rows] of cases) {
    it(JSON.stringify(sql), async () => {
      const querying = query(sql, { files })
      if (rows instanceof RegExp) await assert.rejects(querying, { code: 'invalidInput', message: rows })
      else assert.deepEqual(JSON.parse(await querying), rows)
    })
  }
})

it('rejects a rewritten query whose parse result differs from the validated one in any part', () => {
  const meant = { node: { name: 'a', query_location: 3 } }
  checkRewritten(meant, '{"node":{"name":"a","query_location":7}}')
  assert.throws(() => checkRewritten(meant, '{"node":{"name":"b","query_location":3}}'), misread)
  assert.throws(() => checkRewritten(meant, '{"node":{"name":"a"},"error":true}'), misread)
})
