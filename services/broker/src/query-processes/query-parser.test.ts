import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { describe, it } from 'node:test'
import { QueryParser } from './query-parser.ts'

const schema = 'svc'

describe('a parser', () => {
  const parser = new QueryParser(tmpdir())
  const parse = (sql: string) => parser.parse({ sql, parameters: [], schema })
  const tables = async (sql: string) => (await parse(sql)).tables.map(({ name, times }) => [name, times])
  const constant = "SELECT * FROM one WHERE __time >= TIMESTAMP '2001-02-01'"
  const withMacro = "SELECT * FROM two WHERE __time >= time_shift(TIMESTAMP '2001-02-01', 'P1M', 1)"

  it('returns the same result for a query, whatever it parsed before', async () => {
    const expected = new Map<string, unknown>()
    for (const sql of [constant, withMacro]) expected.set(sql, await tables(sql))
    for (const sql of [withMacro, withMacro, constant, constant, withMacro])
      assert.deepEqual(await tables(sql), expected.get(sql), sql)
  })

  it('parses queries at the same time', async () => {
    const queries = [constant, withMacro, constant, 'SELECT FROM', withMacro]
    const parsed = await Promise.allSettled(queries.map(tables))
    assert.deepEqual(
      parsed.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    )
    assert.equal((await tables(constant)).length, 1)
  })

  it('continues after a query that fails', async () => {
    await assert.rejects(parse('SELECT FROM'), { code: 'invalidInput' })
    await assert.rejects(parse('DROP TABLE one'), { code: 'invalidInput' })
    assert.equal((await tables(constant)).length, 1)
  })
})
