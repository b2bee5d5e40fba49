import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { SqlAnswer } from './query-sql.ts'
import { ResultTable } from './result-table.ts'
import { type ShownAs, showAnswer } from './show-answer.ts'

describe('a result table', () => {
  const rows = [
    ['a', 5, null],
    ['long text\nof two lines', 12345, null],
  ]
  const table = new ResultTable(['name', 'n', 'none'], rows)
  it('fits its columns to their content and right-aligns numbers', () => {
    const shown = stripVTControlCharacters(table.head() + rows.map((row) => table.row(row)).join(''))
    assert.equal(
      shown,
      [
        'name                        n  none',
        '───────────────────────────────────',
        'a                           5  NULL',
        'long text of two lines  12345  NULL',
        '',
      ].join('\n'),
    )
  })
  it('truncates very long values, and shows later rows that are wider', () => {
    assert.match(table.row(['x'.repeat(500), 1, 2]), /^x{99}… +1 +2\n$/)
    assert.match(table.row([{ a: [1] }, 1234567, 'b']), /^\{"a":\[1\]\} +1234567 +b\n$/)
  })
})

describe('an answer', () => {
  async function shown(body: string, shownAs: ShownAs, segmentsNotLoaded: Record<string, number> = {}) {
    const [output, notes] = [new PassThrough(), new PassThrough()]
    const answer = {
      requestedAt: performance.now(),
      body: Readable.from([...body].map((part) => Buffer.from(part))),
      segmentsNotLoaded,
    } as unknown as SqlAnswer
    const texts = Promise.all([text(output), text(notes)])
    await showAnswer(answer, shownAs, output, notes).finally(() => {
      output.end()
      notes.end()
    })
    return await texts
  }
  it('is shown as a table with the number of rows', async () => {
    const [table] = await shown('["a"]\n[1]\n[2]\n\n', 'table')
    assert.match(table, /1\n2\n\(2 rows, \d+\.\d s\)\n$/)
  })
  it('is copied without the end marker', async () => {
    assert.deepEqual(await shown('a,b\n1,2\n\n', 'csv'), ['a,b\n1,2\n', ''])
    assert.deepEqual(await shown('[{"a":1}]\n', 'json'), ['[{"a":1}]\n', ''])
  })
  it('lists segments that are missing from it', async () => {
    const [, notes] = await shown('["a"]\n\n', 'table', { wiki: 3 })
    assert.match(notes, /^For datasource \[wiki\], the result excludes 3 segments that no server has loaded/)
  })
  for (const [shownAs, body] of [
    ['table', '["a"]\n[1]\n'],
    ['csv', 'a,b\n1,2\n'],
    ['json', '[{"a":1}'],
  ] as const) {
    it(`that is incomplete is a failure as ${shownAs}`, async () => {
      await assert.rejects(shown(body, shownAs), { code: 'unavailable', message: /is incomplete/ })
    })
  }
})
