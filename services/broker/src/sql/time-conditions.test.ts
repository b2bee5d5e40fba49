import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fc } from '@svc/shared/testing'
import { openTestQueries, ownerOf } from '../query-processes/test-queries.ts'
import type { Parameter } from './parameter.ts'

const queries = await openTestQueries()

/** Returns the times of each table of a query, in days of January 2026, without the slack by which they are widened. */
async function timesIn(sql: string, parameters: readonly Parameter[] = []): Promise<Record<string, string>> {
  const session = await queries.processes.acquire(ownerOf('ann'), AbortSignal.timeout(60_000))
  try {
    const { tables } = await session.read({ sql, parameters, schema: 'svc' })
    return Object.fromEntries(
      tables.map(({ name, times }) => [
        name,
        times?.map(({ start, end }) => `${dayOf(start + 1)}..${dayOf(end - 2)}`).join(' ') ?? 'any',
      ]),
    )
  } finally {
    session.release()
  }
}
const dayOf = (ms: number): string =>
  Number.isFinite(ms) ? String((ms - Date.UTC(2025, 11, 31)) / 86_400_000) : ''

describe('the times that a query reads', () => {
  const third = `TIMESTAMP '2026-01-03'`
  const cases: readonly (readonly [sql: string, times: Readonly<Record<string, string>>])[] = [
    [`SELECT * FROM a WHERE __time >= ${third}`, { a: '3..' }],
    [`SELECT * FROM a WHERE __TIME < ${third} AND x > 1`, { a: '..3' }],
    [`SELECT * FROM a WHERE ${third} <= __time`, { a: '3..' }],
    [`SELECT * FROM a WHERE __time = '2026-01-03'`, { a: '3..3' }],
    [`SELECT * FROM a WHERE __time BETWEEN DATE '2026-01-03' AND '2026-01-05'`, { a: '3..5' }],
    [`SELECT * FROM a WHERE __time IN (${third}, DATE '2026-01-09')`, { a: '3..3 9..9' }],
    [
      `SELECT * FROM a WHERE __time > ${third} - INTERVAL 1 DAY AND __time < ${third} + INTERVAL '2' DAY`,
      { a: '2..5' },
    ],
    [`SELECT * FROM a WHERE TIME_IN_INTERVAL(__time, '2026-01-03/P2D') AND x = 1`, { a: '3..5' }],
    [`SELECT * FROM a WHERE NOT TIME_IN_INTERVAL(__time, '2026-01-03/P2D')`, { a: 'any' }],
    [`SELECT * FROM a WHERE TIME_IN_INTERVAL(x, '2026-01-03/P2D')`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time >= TIME_SHIFT(${third}, 'P1D', -1)`, { a: '2..' }],
    [`SELECT * FROM a WHERE __time >= TIME_FLOOR(TIME_PARSE('2026-01-03T12'), 'P1D')`, { a: '3..' }],
    [
      `SELECT * FROM a WHERE __time >= TIME_FLOOR(${third}, 'P1M') AND __time < TIME_CEIL(TIME_FLOOR(${third}, 'P1D'), 'P1D')`,
      { a: '1..3' },
    ],
    [`SELECT * FROM a WHERE __time >= TIME_FLOOR(now(), 'P1M')`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time < date_trunc('month', TIMESTAMP '2026-01-20') AND x = 1`, { a: '..1' }],
    [
      `SELECT * FROM a WHERE (__time < ${third} OR __time > '2026-01-07') AND __time < '2026-01-09'`,
      { a: '..3 7..9' },
    ],
    [`SELECT * FROM a WHERE NOT (__time < ${third})`, { a: '3..' }],
    [`SELECT * FROM a WHERE __time > '2026-01-09' AND __time < ${third}`, { a: '' }],
    [`SELECT * FROM a WHERE __time < ${third} OR x = 1`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time <> ${third}`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time NOT BETWEEN ${third} AND ${third}`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time < x`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time < '2026' || '-01-03'`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time < 'no time'`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time < 5`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time < date_trunc('month', now())`, { a: 'any' }],
    ['SELECT * FROM a WHERE __time < ?', { a: 'any' }],
    [
      `SELECT * FROM a WHERE __time < (SELECT max(__time) FROM b WHERE __time < ${third})`,
      { a: 'any', b: '..3' },
    ],
    [`SELECT * FROM a WHERE other.__time < ${third}`, { a: 'any' }],
    [`SELECT * FROM a AS b WHERE b.__time < ${third} AND a.__time > ${third}`, { a: '..3' }],
    [`SELECT * FROM a AS t(x, __time) WHERE __time < ${third}`, { a: 'any' }],
    [`SELECT * FROM a TABLESAMPLE 10% WHERE __time < ${third}`, { a: 'any' }],
    [`SELECT * FROM a WHERE __time < ${third} USING SAMPLE 3`, { a: 'any' }],
    [`SELECT * FROM a, b WHERE a.__time < ${third} AND b.__time >= ${third}`, { a: '..3', b: '3..' }],
    [`SELECT * FROM a, b WHERE __time < ${third}`, { a: 'any', b: 'any' }],
    [`SELECT * FROM a LEFT JOIN b ON a.x = b.x WHERE b.__time < ${third}`, { a: 'any', b: '..3' }],
    [`SELECT * FROM a LEFT JOIN b ON a.x = b.x AND b.__time < ${third}`, { a: 'any', b: 'any' }],
    [`SELECT * FROM a ASOF JOIN b ON a.__time >= b.__time WHERE b.__time < ${third}`, { a: 'any', b: 'any' }],
    [`SELECT * FROM a POSITIONAL JOIN b WHERE b.__time < ${third}`, { a: 'any', b: 'any' }],
    [`SELECT * FROM a ANTI JOIN b ON a.x = b.x WHERE a.__time < ${third}`, { a: 'any', b: 'any' }],
    [
      `WITH w AS (SELECT * FROM a WHERE __time < ${third}) SELECT * FROM w WHERE __time > ${third}`,
      {
        a: '..3',
      },
    ],
    [`SELECT * FROM (SELECT * FROM a) WHERE __time < ${third}`, { a: 'any' }],
    [`SELECT * FROM svc.a WHERE a.__time < ${third} GROUP BY ALL HAVING count(*) > 1`, { a: '..3' }],
  ]
  for (const [sql, expected] of cases) {
    it(sql, async () => {
      assert.deepEqual(await timesIn(sql), expected)
    })
  }

  const time = (value: string | number | null) => ({ type: 'TIMESTAMP', value })
  const withParameters: readonly (readonly [
    sql: string,
    parameters: readonly Parameter[],
    times: Readonly<Record<string, string>>,
  ])[] = [
    ['SELECT * FROM a WHERE __time < ?', [time('2026-01-03')], { a: '..3' }],
    ['SELECT * FROM a WHERE __time < ?', [time(Date.UTC(2026, 0, 3))], { a: '..3' }],
    ['SELECT * FROM a WHERE __time < ?', [{ type: 'DATE', value: '2026-01-03T12:00' }], { a: '..3' }],
    [
      'SELECT ? FROM a WHERE __time BETWEEN ? AND ?',
      [{ type: 'VARCHAR', value: 'x' }, time('2026-01-03'), time('2026-01-05')],
      { a: '3..5' },
    ],
    [
      'SELECT * FROM a WHERE __time > $2 AND __time < $1',
      [time('2026-01-05'), time('2026-01-03')],
      { a: '3..5' },
    ],
    ['SELECT * FROM a WHERE __time > ? - INTERVAL 1 DAY', [time('2026-01-03')], { a: '2..' }],
    [
      'SELECT * FROM a WHERE __time < CAST(? AS TIMESTAMP)',
      [{ type: 'VARCHAR', value: '2026-01-03' }],
      { a: '..3' },
    ],
    ['SELECT * FROM a WHERE __time < ?', [{ type: 'VARCHAR', value: '2026-01-03' }], { a: 'any' }],
    ['SELECT * FROM a WHERE __time < ?', [{ type: 'BIGINT', value: 3 }], { a: 'any' }],
    ['SELECT * FROM a WHERE __time < ?', [time(null)], { a: 'any' }],
    ['SELECT * FROM a WHERE __time < ?', [time('no time')], { a: 'any' }],
    ['SELECT * FROM a WHERE __time < ? AND x = ?', [time('2026-01-03')], { a: '..3' }],
    ['SELECT * FROM a WHERE __time < $2', [time('2026-01-03')], { a: 'any' }],
  ]
  for (const [sql, parameters, expected] of withParameters) {
    it(`${sql} with ${JSON.stringify(parameters)}`, async () => {
      assert.deepEqual(await timesIn(sql, parameters), expected)
    })
  }

  it('are widened by a day if they move or depend on a time zone', async () => {
    const sql = 'SELECT * FROM a WHERE __time BETWEEN now() - INTERVAL 1 HOUR AND now()'
    const [{ start, end } = { start: 0, end: 0 }] = (await queries.timesOf(sql)) ?? []
    const hours = (end - start) / 3_600_000
    assert.ok(hours >= 49 && hours < 49.1, String(hours))
  })
})

const fileDays = [1, 2, 3, 4, 5]
/** Returns SQL for the rows of a day; column types differ between days. */
const fileSql = (day: number): string => {
  const added = day % 2 === 0 ? `${day}::BIGINT` : `${day}.5::DOUBLE`
  const more = day === 4 ? `, 'only here' AS late` : ''
  return `SELECT TIMESTAMP_MS '2026-01-0${day}' + to_hours(n::INTEGER) AS __time, 'p' || n % 3 AS page, ${added} AS added${more}
    FROM range(24) r(n)`
}
for (const day of fileDays) await queries.writeParquet(`day${day}.parquet`, fileSql(day))
const schemaOf = (day: number) => [
  { name: 'page', type: 'string' as const },
  { name: 'added', type: day % 2 === 0 ? ('long' as const) : ('double' as const) },
  ...(day === 4 ? [{ name: 'late', type: 'string' as const }] : []),
]

describe('a query that skips files', () => {
  it('returns the same rows, columns, and types as over all files', async () => {
    const hour = fc.integer({ min: -10, max: 130 })
    const at = (h: number): string => `TIMESTAMP '2026-01-01' + INTERVAL '${h}' HOUR`
    const plain = (text: string) => ({ text, parameters: [] as readonly Parameter[] })
    const ms = (h: number): number => Date.UTC(2026, 0, 1, h)
    const condition = fc.oneof(
      hour.map((h) => plain(`__time >= ${at(h)}`)),
      hour.map((h) => plain(`wiki.__time < ${at(h)}`)),
      fc.tuple(hour, hour).map(([a, b]) => plain(`__time BETWEEN ${at(a)} AND ${at(b)}`)),
      fc.tuple(hour, hour).map(([a, b]) => plain(`(__time = ${at(a)} OR __time > ${at(b)})`)),
      fc.tuple(fc.constantFrom('TIMESTAMP', 'DATE'), hour).map(([type, h]) => ({
        text: '__time > ?',
        parameters: [{ type, value: ms(h) }],
      })),
      fc.tuple(hour, hour).map(([a, b]) => ({
        text: '(__time = ? OR __time < ? + INTERVAL 1 HOUR)',
        parameters: [a, b].map((h) => ({ type: 'TIMESTAMP', value: ms(h) })),
      })),
      fc.constant(plain(`page <> 'p1'`)),
    )
    const select = fc.constantFrom(
      'SELECT * FROM wiki WHERE # ORDER BY ALL',
      'SELECT sum(added), max(late), count(*) FROM wiki WHERE #',
      'SELECT page, sum(added) FROM wiki WHERE # GROUP BY 1 ORDER BY 1',
      `SELECT count(*) FROM wiki WHERE # AND __time IN (SELECT __time FROM wiki WHERE __time < ${at(40)})`,
    )
    await fc.assert(
      fc.asyncProperty(
        select,
        fc.array(condition, { minLength: 1, maxLength: 3 }),
        async (text, conditions) => {
          const sql = text.replace('#', conditions.map((one) => one.text).join(' AND '))
          const parameters = conditions.flatMap((one) => one.parameters)
          const full = fileDays.map((day) => `day${day}.parquet`)
          const times = await queries.timesOf(sql, parameters)
          const kept = fileDays.filter((day) => {
            const start = Date.UTC(2026, 0, day)
            return (
              times === undefined || times.some((time) => time.start < start + 86_400_000 && time.end > start)
            )
          })
          const style = { header: true, sqlTypesHeader: true, format: 'array' as const }
          assert.equal(
            await queries.query(sql, {
              files: kept.map((day) => `day${day}.parquet`),
              schemas: [...new Set(fileDays.map((day) => JSON.stringify(schemaOf(day))))].map((list) =>
                JSON.parse(list),
              ),
              parameters,
              style,
            }),
            await queries.query(sql, { files: full, parameters, style }),
            sql,
          )
        },
      ),
      { numRuns: 60 },
    )
  })
})
