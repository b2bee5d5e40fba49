import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { openEngine } from '@svc/shared/ingestion'
import { filterSql, intervalsSql } from './native-filter.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-filter-'))
mkdirSync(path.join(folder, 'spill'))
const engine = await openEngine({
  directories: [],
  files: [],
  spillDirectory: path.join(folder, 'spill'),
  memoryLimitBytes: 64 * 2 ** 20,
  threads: 1,
})
after(() => {
  engine.close()
  rmSync(folder, { recursive: true })
})

const columns = new Map([
  ['__time', 'TIMESTAMP_MS'],
  ['page', 'VARCHAR'],
  ['added', 'BIGINT'],
])
const rows = `(VALUES (1, TIMESTAMP_MS '2026-01-01', 'a', 5::BIGINT), (2, TIMESTAMP_MS '2026-01-02', 'it''s', 10),
  (3, TIMESTAMP_MS '2026-01-03', NULL, NULL)) t(id, __time, page, added)`

async function matching(condition: string): Promise<number[]> {
  const found = await engine.rows(`SELECT id FROM ${rows} WHERE ${condition} ORDER BY id`)
  return found.map(({ id }) => Number(id))
}

const cases: readonly (readonly [string, unknown, readonly number[]])[] = [
  ['a value', { type: 'selector', dimension: 'page', value: 'a' }, [1]],
  ['a value with a quote', { type: 'selector', dimension: 'page', value: "it's" }, [2]],
  ['a value with a NUL', { type: 'in', dimension: 'page', values: ['a\0', '\0a', "it's"] }, [2]],
  ['a null value', { type: 'selector', dimension: 'page', value: null }, [3]],
  ['a number as a string', { type: 'selector', dimension: 'added', value: '10' }, [2]],
  ['a missing column', { type: 'selector', dimension: 'x', value: null }, [1, 2, 3]],
  ['an equal number', { type: 'equals', column: 'added', matchValueType: 'LONG', matchValue: 5 }, [1]],
  ['null', { type: 'null', column: 'page' }, [3]],
  ['a list', { type: 'in', dimension: 'page', values: ['a', null] }, [1, 3]],
  ['an empty list', { type: 'in', dimension: 'page', values: [] }, []],
  ['string bounds', { type: 'bound', dimension: 'added', lower: '1', upper: '4' }, [2]],
  [
    'numeric bounds',
    { type: 'bound', dimension: 'added', lower: '5', lowerStrict: true, ordering: 'numeric' },
    [2],
  ],
  [
    'a range',
    { type: 'range', column: 'added', matchValueType: 'LONG', lower: 5, upper: 10, upperOpen: true },
    [1],
  ],
  ['a pattern', { type: 'like', dimension: 'page', pattern: 'it%' }, [2]],
  ['an interval', { type: 'interval', dimension: '__time', intervals: ['2026-01-02/P1D'] }, [2]],
  ['a time as a number', { type: 'selector', dimension: '__time', value: String(Date.UTC(2026, 0, 1)) }, [1]],
  [
    'not, which null values do not match',
    { type: 'not', field: { type: 'selector', dimension: 'page', value: 'a' } },
    [2],
  ],
  [
    'not, with null listed',
    { type: 'not', field: { type: 'in', dimension: 'page', values: ['a', null] } },
    [2],
  ],
  ['not null', { type: 'not', field: { type: 'null', column: 'page' } }, [1, 2]],
  [
    'not equal, which null values do not match',
    { type: 'not', field: { type: 'equals', column: 'added', matchValueType: 'LONG', matchValue: 5 } },
    [2],
  ],
  ['and without filters', { type: 'and', fields: [] }, [1, 2, 3]],
  [
    'or',
    {
      type: 'or',
      fields: [
        { type: 'null', column: 'page' },
        { type: 'selector', dimension: 'page', value: 'a' },
      ],
    },
    [1, 3],
  ],
  ['true', { type: 'true' }, [1, 2, 3]],
  ['false', { type: 'false' }, []],
]

describe('native filters', () => {
  for (const [name, filter, expected] of cases) {
    it(`match ${name}`, async () => assert.deepEqual(await matching(filterSql(filter, columns)), expected))
  }

  it('cannot inject SQL', async () => {
    const hostile = `x' OR true; COPY (SELECT 1) TO '${folder}/out'; --`
    for (const field of ['dimension', 'value', 'pattern', 'column', 'matchValue', 'lower']) {
      for (const type of ['selector', 'in', 'bound', 'like', 'equals', 'range', 'null']) {
        const filter = {
          type,
          dimension: 'page',
          column: 'page',
          value: 'q',
          values: [hostile],
          pattern: 'q',
          matchValue: 'q',
          lower: 'zz',
          [field]: hostile,
        }
        assert.ok((await matching(filterSql(filter, columns))).length <= 3, `${type} ${field}`)
      }
    }
  })

  const bad: readonly (readonly [unknown, RegExp])[] = [
    ['x', /^Invalid value \[x\] for \[filter\]/],
    [
      { type: 'javascript' },
      /^Invalid value \[javascript\] for \[filter.type\]: expected one of \[selector, /,
    ],
    [{ type: 'selector' }, /^Missing value for \[filter\.dimension\]/],
    [{ type: 'null', column: 'page\0' }, /^Invalid value \[page\\u0000\] for \[filter\.column\]/],
    [{ type: 'in', dimension: 'page' }, /^Missing value for \[filter\.values\]/],
    [
      { type: 'and', fields: [{ type: 'true' }, { type: 'x' }] },
      /^Invalid value \[x\] for \[filter\.fields\[1\]\.type\]/,
    ],
    [
      { type: 'bound', dimension: 'added', lower: 'x', ordering: 'numeric' },
      /^Invalid value \[x\] for \[filter\.lower\]/,
    ],
    [
      { type: 'equals', column: 'page', matchValue: {} },
      /^Invalid value \[\{\}\] for \[filter\.matchValue\]: expected a string, number, or boolean$/,
    ],
    [
      { type: 'interval', dimension: '__time', intervals: ['x'] },
      /^Invalid value \[x\] for \[filter\.intervals\[0\]\]: expected an ISO 8601 interval/,
    ],
  ]
  for (const [filter, message] of bad) {
    it(`reject ${JSON.stringify(filter)}`, () => {
      assert.throws(() => filterSql(filter, columns), { code: 'invalidInput', message })
    })
  }

  it('select rows by the intervals of a query', async () => {
    const day = (date: number) => Date.UTC(2026, 0, date)
    assert.deepEqual(await matching(intervalsSql([{ start: -Infinity, end: day(2) }])), [1])
    assert.deepEqual(
      await matching(
        intervalsSql([
          { start: day(2), end: day(3) },
          { start: day(3), end: Infinity },
        ]),
      ),
      [2, 3],
    )
    assert.deepEqual(await matching(intervalsSql([{ start: -Infinity, end: Infinity }])), [1, 2, 3])
    assert.deepEqual(await matching(intervalsSql([])), [])
  })
})
