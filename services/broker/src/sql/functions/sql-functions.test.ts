// The expected values are those of Druid 37.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestQueries } from '../../query-processes/test-queries.ts'
import { definedFunctions } from './index.ts'

const { query, writeParquet } = await openTestQueries()
await writeParquet(
  'a.parquet',
  `SELECT * FROM (VALUES (TIMESTAMP_MS '2001-02-03 04:05:06.789', 'äbc', 3), (TIMESTAMP_MS '2001-02-03 01:00:00', NULL, 5),
     (TIMESTAMP_MS '2001-03-05 00:00:00', 'zz', 7)) AS rows(__time, page, added)`,
)
const files = ['a.parquet']
const style = { header: true, sqlTypesHeader: true } as const

/** Returns the types and the values of one row. */
async function rowOf(expressions: readonly string[]): Promise<[types: unknown[], values: unknown[]]> {
  const named = expressions.map((expression, index) => `${expression} AS c${index}`).join(', ')
  const [, types, values] = JSON.parse(await query(`SELECT ${named}`, { style })) as unknown[][]
  return [types as unknown[], values as unknown[]]
}

const at = (time: string): string => `TIMESTAMP '${time}'`
const july = at('2001-07-15 03:04:05')
const text = 'VARCHAR'
const time = 'TIMESTAMP'
const bigintType = 'BIGINT'

const tables: Readonly<
  Record<string, readonly (readonly [expression: string, value: unknown, type: string])[]>
> = {
  'time buckets': [
    [`TIME_FLOOR(${july}, 'P1D')`, '2001-07-15T00:00:00.000Z', time],
    [`TIME_FLOOR(${july}, 'P1D', NULL, 'America/Los_Angeles')`, '2001-07-14T07:00:00.000Z', time],
    [`TIME_FLOOR(${july}, 'P1D', NULL, '+05:30')`, '2001-07-14T18:30:00.000Z', time],
    [`TIME_FLOOR(${july}, 'P1W')`, '2001-07-09T00:00:00.000Z', time],
    [`TIME_FLOOR(${july}, 'P2W')`, '2001-07-05T00:00:00.000Z', time],
    [`TIME_FLOOR(${july}, 'P3M', NULL, 'Asia/Tokyo')`, '2001-06-30T15:00:00.000Z', time],
    [`TIME_FLOOR(${july}, 'P2Y', CAST(NULL AS TIMESTAMP), 'Asia/Tokyo')`, '1999-12-31T15:00:00.000Z', time],
    [`TIME_FLOOR(${july}, 'P1Y6M')`, '2001-07-01T00:00:00.000Z', time],
    [`TIME_FLOOR(${july}, 'PT1H', NULL, 'Asia/Kolkata')`, '2001-07-15T02:30:00.000Z', time],
    [`TIME_FLOOR(${july}, 'PT6H', NULL, 'America/Los_Angeles')`, '2001-07-15T02:00:00.000Z', time],
    [`TIME_FLOOR(${july}, 'PT1H30M', NULL, 'Asia/Kolkata')`, '2001-07-15T02:00:00.000Z', time],
    [`TIME_FLOOR(${july}, 'P1W2D')`, '2001-07-08T00:00:00.000Z', time],
    [`TIME_FLOOR(${at('1969-07-15 03:04:05')}, 'P2Y')`, '1968-01-01T00:00:00.000Z', time],
    [`TIME_FLOOR(${at('2001-03-05')}, 'P1M', ${at('2001-01-31')})`, '2001-02-28T00:00:00.000Z', time],
    [`TIME_FLOOR(${at('2000-07-05')}, 'P1M', ${at('2001-01-31')})`, '2000-06-30T00:00:00.000Z', time],
    [
      `TIME_FLOOR(${at('2001-07-05')}, 'P1D', ${at('2001-01-31 06:00:00')}, 'America/New_York')`,
      '2001-07-04T05:00:00.000Z',
      time,
    ],
    // A repeated hour, a repeated midnight, and a skipped midnight.
    [
      `TIME_FLOOR(${at('2001-10-28 05:30:00')}, 'PT1H', NULL, 'America/New_York')`,
      '2001-10-28T05:00:00.000Z',
      time,
    ],
    [
      `TIME_FLOOR(${at('2001-10-14 12:00:00')}, 'P1D', NULL, 'America/Sao_Paulo')`,
      '2001-10-14T03:00:00.000Z',
      time,
    ],
    [
      `TIME_FLOOR(${at('2001-02-18 02:30:00')}, 'P1D', NULL, 'America/Sao_Paulo')`,
      '2001-02-17T02:00:00.000Z',
      time,
    ],
    [`TIME_FLOOR(NULL, 'P1D')`, null, time],
    [`TIME_CEIL(${july}, 'P1M')`, '2001-08-01T00:00:00.000Z', time],
    [`TIME_CEIL(${at('2001-07-01')}, 'P1M')`, '2001-07-01T00:00:00.000Z', time],
    [
      `TIME_CEIL(${at('2001-04-01 09:04:05')}, 'P1D', NULL, 'America/Los_Angeles')`,
      '2001-04-02T07:00:00.000Z',
      time,
    ],
    [`TIME_CEIL(${at('2001-02-05')}, 'P1M', ${at('2001-01-31')})`, '2001-02-28T00:00:00.000Z', time],
    [`FLOOR(${july} TO QUARTER)`, '2001-07-01T00:00:00.000Z', time],
    [`FLOOR(FLOOR(${july} /* TO DAY) */ TO hour) TO  Week )`, '2001-07-09T00:00:00.000Z', time],
    [`CEIL(${july} TO MINUTE)`, '2001-07-15T03:05:00.000Z', time],
    [`CEILING(${july} TO YEAR)`, '2002-01-01T00:00:00.000Z', time],
    ['FLOOR(1.5)', 1, 'DECIMAL'],
    [`'FLOOR(x TO DAY)'`, 'FLOOR(x TO DAY)', text],
  ],
  'time arithmetic': [
    [`TIME_SHIFT(${at('2001-01-31 03:04:05')}, 'P1M', 1)`, '2001-02-28T03:04:05.000Z', time],
    [`TIME_SHIFT(${at('2001-01-31 03:04:05')}, 'P1Y1M', -2)`, '1998-11-30T03:04:05.000Z', time],
    [
      `TIME_SHIFT(${at('2001-04-01 03:04:05')}, 'P1DT1H', 3, 'America/Los_Angeles')`,
      '2001-04-04T05:04:05.000Z',
      time,
    ],
    [`TIMESTAMPADD(MONTH, 1, ${at('2001-01-31')})`, '2001-02-28T00:00:00.000Z', time],
    [`TIMESTAMPADD( Second , -5, ${july})`, '2001-07-15T03:04:00.000Z', time],
    [`TIMESTAMPDIFF(MONTH, ${at('2001-01-31')}, ${at('2001-02-28')})`, 1, bigintType],
    [`TIMESTAMPDIFF(MONTH, ${at('2001-02-28')}, ${at('2001-01-31')})`, -1, bigintType],
    [`TIMESTAMPDIFF(MONTH, ${at('2001-03-15 09:00:00')}, ${at('2001-01-15 10:00:00')})`, -1, bigintType],
    [`TIMESTAMPDIFF(YEAR, ${at('2000-03-01')}, ${at('2002-02-28')})`, 1, bigintType],
    [`TIMESTAMPDIFF(DAY, ${at('2001-01-01')}, ${july})`, 195, bigintType],
    [`TIMESTAMPDIFF(DAY, ${july}, ${at('2001-01-01')})`, -195, bigintType],
    [`TIME_IN_INTERVAL(${july}, '2001-07-15/P1D')`, true, 'BOOLEAN'],
    [`TIME_IN_INTERVAL(${at('2001-07-16')}, '2001-07-15/2001-07-16')`, false, 'BOOLEAN'],
    ['MILLIS_TO_TIMESTAMP(981173106789)', '2001-02-03T04:05:06.789Z', time],
    [`TIMESTAMP_TO_MILLIS(${july})`, 995166245000, bigintType],
  ],
  'parts of a time': [
    [`EXTRACT(DOW FROM ${july})`, 7, bigintType],
    [`EXTRACT(EPOCH FROM ${july})`, 995166245, bigintType],
    [`EXTRACT(MILLISECOND FROM ${at('2001-07-15 03:04:05.678')})`, 678, bigintType],
    [`EXTRACT(WEEK FROM ${at('2001-12-31')})`, 1, bigintType],
    [`EXTRACT(CENTURY FROM ${at('2000-12-31')})`, 20, bigintType],
    [`TIME_EXTRACT(${at('1969-07-15 03:04:05.678')}, 'EPOCH')`, -14676954, bigintType],
    [`TIME_EXTRACT(${at('2001-12-31 20:00:00')}, 'QUARTER', 'Asia/Tokyo')`, 1, bigintType],
    [`TIME_EXTRACT(${july}, 'hour', 'America/Los_Angeles')`, 20, bigintType],
    [`TIME_EXTRACT(${july}, 'DOY')`, 196, bigintType],
  ],
  'formatting and parsing times': [
    [`TIME_FORMAT(${july})`, '2001-07-15T03:04:05.000Z', text],
    [`TIME_FORMAT(${july}, NULL, 'America/Los_Angeles')`, '2001-07-14T20:04:05.000-07:00', text],
    [`TIME_FORMAT(${july}, 'yyyy/MM/dd HH:mm:ss Z', 'Asia/Kolkata')`, '2001/07/15 08:34:05 +0530', text],
    [`TIME_FORMAT(${july}, 'yyyy-MM-dd''T''HH''h''')`, '2001-07-15T03h', text],
    [
      `TIME_FORMAT(${at('2001-07-05 03:04:05.678')}, 'y yy yyyyy M MMM MMMM d D EEE EEEE e H h k K a m s S SSSS w x ZZ ZZZ')`,
      '2001 01 02001 7 Jul July 5 186 Thu Thursday 4 3 3 3 3 AM 4 5 6 6780 27 2001 +00:00 UTC',
      text,
    ],
    [`TIME_PARSE('2001-07-05')`, '2001-07-05T00:00:00.000Z', time],
    [`TIME_PARSE('2001-1-5 1:2:3')`, '2001-01-05T01:02:03.000Z', time],
    [`TIME_PARSE('2001-07-05T10:11:12,5+05:30')`, '2001-07-05T04:41:12.500Z', time],
    [`TIME_PARSE('2001-07-05 10:11:12+01', NULL, 'America/Los_Angeles')`, '2001-07-05T09:11:12.000Z', time],
    [`TIME_PARSE('2001-10-28 01:30:00', NULL, 'America/Los_Angeles')`, '2001-10-28T08:30:00.000Z', time],
    [`TIME_PARSE('2001-04-01 02:30:00', NULL, 'America/Los_Angeles')`, null, time],
    [`TIME_PARSE('2001-02-30')`, null, time],
    [`TIME_PARSE('2001-07-05T24:00:00')`, null, time],
    [`TIME_PARSE('abc')`, null, time],
    [`TIME_PARSE('20010705', 'yyyyMMdd')`, '2001-07-05T00:00:00.000Z', time],
    [`TIME_PARSE('05/July/2001:10:11:12 +0530', 'dd/MMM/yyyy:HH:mm:ss Z')`, '2001-07-05T04:41:12.000Z', time],
    [`TIME_PARSE('2001-07-05 12:11 am', 'yyyy-MM-dd hh:mm a')`, '2001-07-05T00:11:00.000Z', time],
    [`TIME_PARSE('2001-07-05 10:11:12.1234', 'yyyy-MM-dd HH:mm:ss.SSS')`, null, time],
    [`TIME_PARSE('10:11', 'HH:mm')`, '1970-01-01T10:11:00.000Z', time],
  ],
  numbers: [
    ['SAFE_DIVIDE(7, 2)', 3, 'INTEGER'],
    ['SAFE_DIVIDE(7, 0)', null, 'INTEGER'],
    ['SAFE_DIVIDE(CAST(7 AS DOUBLE), 2)', 3.5, 'DOUBLE'],
    ['DIV(-7, 2)', -3, bigintType],
    ['TRUNCATE(1.29, 1)', 1.2, 'DECIMAL'],
    ['BITWISE_AND(6, 3)', 2, bigintType],
    ['BITWISE_OR(6, 3)', 7, bigintType],
    ['BITWISE_XOR(6, 3)', 5, bigintType],
    ['BITWISE_COMPLEMENT(6)', -7, bigintType],
    [`PARSE_LONG('-12')`, -12, bigintType],
    [`PARSE_LONG('+12')`, 12, bigintType],
    [`PARSE_LONG(' 12')`, null, bigintType],
    [`PARSE_LONG('1.5')`, null, bigintType],
    [`PARSE_LONG('0x1F', 16)`, 31, bigintType],
    [`PARSE_LONG('-0x1F', 16)`, null, bigintType],
    [`PARSE_LONG('12', 2)`, null, bigintType],
    [`PARSE_LONG('zz', 36)`, 1295, bigintType],
    [`PARSE_LONG('9223372036854775808')`, null, bigintType],
    [`PARSE_LONG('')`, null, bigintType],
  ],
  strings: [
    [`NVL(NULL, 'x')`, 'x', text],
    [`CONCAT('a', NULL, 'b')`, null, text],
    [`CONCAT('a', 1, 'b')`, 'a1b', text],
    [`TEXTCAT('a', 'b')`, 'ab', text],
    [`BTRIM('  a ')`, 'a', text],
    [`BTRIM('xxaxy', 'xy')`, 'a', text],
    [`TRIM(BOTH 'x' FROM 'xax')`, 'a', text],
    [`TRIM(chr(160) || 'a ')`, '\u00a0a', text],
    [`LPAD('ab', 4)`, '  ab', text],
    [`LPAD('abcd', 2)`, 'ab', text],
    [`RPAD('ab', 5, 'xyz')`, 'abxyz', text],
    [`RPAD('ab', 5, '')`, 'ab', text],
    [`STRLEN('äb')`, 2, bigintType],
    [`STRPOS('foobar', 'o')`, 2, bigintType],
    [`STRPOS('foobar', 'z')`, 0, bigintType],
    [`CONTAINS_STRING('foobar', 'OO')`, false, 'BOOLEAN'],
    [`ICONTAINS_STRING('foobar', 'OO')`, true, 'BOOLEAN'],
    [`CONTAINS_STRING(NULL, 'o')`, null, 'BOOLEAN'],
    [`REGEXP_LIKE('foobar', 'o')`, true, 'BOOLEAN'],
    [`REGEXP_EXTRACT('foobar', 'o+(b)')`, 'oob', text],
    [`REGEXP_EXTRACT('foobar', 'o+(b)', 1)`, 'b', text],
    [`REGEXP_EXTRACT('foobar', 'z')`, null, text],
    [`REGEXP_REPLACE('foobar', 'o', '0')`, 'f00bar', text],
    [`REGEXP_REPLACE('foobar', '(o+)b', '<$1\\\\\\$>')`, 'f<oo\\$>ar', text],
    [`STRING_TO_ARRAY('a1b22c', '[0-9]+')`, ['a', 'b', 'c'], 'ARRAY'],
    [`STRING_TO_ARRAY('a,b,,', ',')`, ['a', 'b'], 'ARRAY'],
    [`STRING_TO_ARRAY('', 'x')`, [''], 'ARRAY'],
  ],
}

for (const [name, rows] of Object.entries(tables)) {
  it(`supports functions for ${name}`, async () => {
    const [types, values] = await rowOf(rows.map(([expression]) => expression))
    assert.deepEqual(
      rows.map(([expression], index) => [expression, values[index], types[index]]),
      rows,
    )
  })
}

describe('functions of columns', () => {
  const cases: readonly (readonly [sql: string, rows: readonly unknown[]])[] = [
    [
      `SELECT TIME_FLOOR(__time, 'P1D'), count(*) FROM wiki GROUP BY TIME_FLOOR(__time, 'P1D') ORDER BY 1`,
      [
        ['2001-02-03T00:00:00.000Z', 2],
        ['2001-03-05T00:00:00.000Z', 1],
      ],
    ],
    [
      `SELECT TIME_FLOOR(__time, 'P1M'), TIME_FLOOR(__time, 'P1M', NULL, 'Asia/Tokyo'), TIME_FLOOR(__time, 'P1D')
       FROM wiki ORDER BY __time LIMIT 1`,
      [['2001-02-01T00:00:00.000Z', '2001-01-31T15:00:00.000Z', '2001-02-03T00:00:00.000Z']],
    ],
    [
      `SELECT EARLIEST(page), LATEST(page), EARLIEST(added) FILTER (WHERE added <> 5), EARLIEST_BY(page, __time),
       LATEST_BY(added, __time), ANY_VALUE(added) > 0 FROM wiki`,
      [[null, 'zz', 3, null, 7, true]],
    ],
    [
      `SELECT LATEST(page, 1), EARLIEST_BY(page, -added, 1), EARLIEST_BY(page, added, 1),
       EARLIEST_BY(page, added, 2), ANY_VALUE(added, 1) IS NULL FROM wiki`,
      [['z', 'z', '', 'ä', false]],
    ],
    ['SELECT LATEST(a.page) FROM wiki a JOIN wiki b ON a.added = b.added', [['zz']]],
    ['SELECT added, LATEST(added) OVER (ORDER BY added) FROM wiki ORDER BY 1 LIMIT 1', [[3, 3]]],
    ['SELECT APPROX_COUNT_DISTINCT(page), APPROX_COUNT_DISTINCT_DS_HLL(page) FROM wiki', [[2, 2]]],
    [`SELECT count(*) FROM wiki WHERE TIME_IN_INTERVAL(__time, '2001-02-03/P1D')`, [[2]]],
    [
      `WITH x AS (SELECT page AS svc_time, __time FROM wiki)
       SELECT TIME_FORMAT(__time, 'yyyy', 'Asia/Tokyo') || svc_time FROM x WHERE svc_time = 'zz'`,
      [['2001zz']],
    ],
    [
      `SELECT TIME_PARSE('2001-07', 'yyyy-MM'), REGEXP_EXTRACT('abc', 'b'), RPAD('a', 2),
       TIME_EXTRACT(__time, 'EPOCH'), FLOOR(1.5) FROM wiki ORDER BY __time LIMIT 1`,
      [['2001-07-01T00:00:00.000Z', 'b', 'a ', 981162000, 1]],
    ],
  ]
  for (const [sql, expected] of cases) {
    it(sql, async () => {
      assert.deepEqual(JSON.parse(await query(sql, { files })), expected)
    })
  }

  it('can take parameters instead of string literals', async () => {
    const parameters = [
      { type: 'VARCHAR', value: 'P1M' },
      { type: 'VARCHAR', value: 'Asia/Tokyo' },
    ]
    const sql = 'SELECT TIME_FLOOR(max(__time), ?, NULL, ?) FROM wiki'
    assert.deepEqual(JSON.parse(await query(sql, { files, parameters })), [['2001-02-28T15:00:00.000Z']])
  })
})

// Tests replace `page`, `added`, and `__time` with other expressions of the same types.
const everywhere = [
  "time_floor(__time, 'P1D')",
  "time_floor(__time, 'PT6H')",
  "time_floor(__time, 'P1M', NULL, 'Asia/Tokyo')",
  "time_floor(__time, 'P1M', __time)",
  "time_ceil(__time, 'P1M')",
  "time_shift(__time, 'P1M', added, 'Asia/Tokyo')",
  "time_extract(__time, 'HOUR', 'Asia/Tokyo')",
  'EXTRACT(HOUR FROM __time)',
  "EXTRACT('day' /* ( */ FROM /* FROM */ __time)",
  "date_part('month', __time)",
  'time_format(__time)',
  "time_format(__time, 'yyyy Z', 'Asia/Tokyo')",
  "time_parse('2001-02-03T04:05:06' || left(page, 0))",
  "time_parse('2001 ' || added, 'yyyy M', 'Asia/Tokyo')",
  "time_in_interval(__time, '2001-02-03/P1D')",
  "time_in_interval(__time, '2001-02-03/3000-01-01')",
  'millis_to_timestamp(added)',
  'timestamp_to_millis(__time)',
  'timestampadd(MONTH, added, __time)',
  'timestampadd("DAY", 1, __time)',
  'timestampdiff(MONTH, __time, __time)',
  'timestampdiff(DAY, __time, __time)',
  'floor(added)',
  'floor(__time TO QUARTER)',
  'ceil(__time TO HOUR)',
  'ceiling(__time TO YEAR)',
  'safe_divide(added, added)',
  'div(added, 2)',
  'truncate(added + 0.25, 1)',
  'bitwise_and(added, 3)',
  'bitwise_or(added, 3)',
  'bitwise_xor(added, 3)',
  'bitwise_complement(added)',
  'parse_long(page)',
  "parse_long('-' || added)",
  'parse_long(page, 36)',
  "btrim(page, 'z')",
  'trim(page)',
  "trim(LEADING 'z' FROM page)",
  "ltrim(page, 'z')",
  "rtrim(page, 'z')",
  'lpad(page, 5)',
  "lpad(page, added, 'x')",
  'rpad(page, 5)',
  'rpad(page, 5, page)',
  'strlen(page)',
  "contains_string(page, 'z')",
  "icontains_string(page, 'Z')",
  "concat(page, added, 'x')",
  'textcat(page, page)',
  "regexp_like(page, 'z')",
  "regexp_extract(page, 'z(.)', 1)",
  "regexp_extract(page, 'b')",
  "regexp_replace(page, 'z', 'a0 svc_given')",
  "string_to_array(page, 'b')",
  'nvl(page, page)',
]

describe('every defined function', () => {
  const columns = ['page', 'added', '__time']
  const all = everywhere.map((expression, index) => `${expression} AS c${index}`).join(',\n')
  const instead = (replace: (column: string) => string): string =>
    columns.reduce((sql, column) => sql.replaceAll(new RegExp(`\\b${column}\\b`, 'g'), replace(column)), all)
  const rowsOf = async (sql: string): Promise<unknown[][]> => JSON.parse(await query(sql, { files }))

  it('is tested here', () => {
    const called = new Set(everywhere.map((expression) => /^\w+/.exec(expression)?.[0]))
    assert.deepEqual(
      [...definedFunctions].filter((name) => !called.has(name)),
      [],
    )
  })

  it('returns the same values with and without GROUP BY', async () => {
    const plain = await rowsOf(`SELECT ${all} FROM wiki ORDER BY __time`)
    const grouped = await rowsOf(`SELECT ${all} FROM wiki GROUP BY page, added, __time ORDER BY __time`)
    assert.deepEqual(grouped, plain)
    const same = await rowsOf(`SELECT ${all}, __time FROM wiki GROUP BY ALL ORDER BY __time`)
    assert.deepEqual(
      same.map((row) => row.slice(0, -1)),
      plain,
    )
  })

  const ofLast = `SELECT ${all} FROM (SELECT max(page) AS page, max(added) AS added, max(__time) AS __time FROM wiki)`
  const others: Readonly<Record<string, string>> = {
    aggregates: `SELECT ${instead((column) => `max(${column})`)} FROM wiki`,
    subqueries: `SELECT ${instead((column) => `(SELECT max(${column}) FROM wiki)`)}`,
  }
  for (const [name, sql] of Object.entries(others)) {
    it(`returns the same values for ${name}`, async () => {
      assert.deepEqual(await rowsOf(sql), await rowsOf(ofLast))
    })
  }

  it('returns the same values in a lambda', async () => {
    const inLambdas = everywhere.map((expression) => `list_transform([1], lambda x: ${expression})[1]`)
    const of = "FROM wiki WHERE page = 'zz'"
    assert.deepEqual(
      await rowsOf(`SELECT ${inLambdas.join(', ')} ${of}`),
      await rowsOf(`SELECT ${all} ${of}`),
    )
  })

  it('keeps the column names as written', async () => {
    const sql = `SELECT time_floor(__time, 'P1D'), time_floor(__time, 'P1M') FROM wiki`
    const [names] = JSON.parse(await query(sql, { files, style: { header: true } }))
    assert.deepEqual(names, ["time_floor(__time, 'P1D')", "time_floor(__time, 'P1M')"])
  })

  it('can be nested and used many times in a query', async () => {
    const held = (inner: string): string =>
      `TIME_PARSE(TIME_FORMAT(TIME_FLOOR(TIME_SHIFT(${inner}, 'P1D', 1, 'Asia/Tokyo'), 'PT6H', NULL, 'Asia/Tokyo')))`
    const many = Array.from(
      { length: 40 },
      (_, index) => `TIME_FORMAT(${held('__time')}, 'yyyy ${'-'.repeat(index)}')`,
    )
    const [row] = await rowsOf(`SELECT ${held(held(held(held('__time'))))}, ${many.join(', ')} FROM wiki`)
    assert.equal(row?.length, 41)
  })
})

describe('rejects', () => {
  const cases: readonly (readonly [expression: string, message: RegExp])[] = [
    [
      `TIME_FLOOR(${july})`,
      /column \[8\]: Invalid number of arguments \[1\] for function \[TIME_FLOOR\]: expected 2 to 4/,
    ],
    [`TIME_FLOOR(${july}, 'x')`, /Function \[TIME_FLOOR\]: Invalid value \[x\] for \[period\]/],
    [`TIME_FLOOR(${july}, 'PT0S')`, /Invalid value \[PT0S\] for \[period\]: expected a non-empty period/],
    [
      `TIME_FLOOR(${july}, 'P1M1D')`,
      /Invalid value \[P1M1D\] for \[period\]: expected only years and months, only weeks/,
    ],
    [`TIME_FLOOR(${july}, 'P1DT1H', NULL, 'Asia/Tokyo')`, /Invalid value \[P1DT1H\] for \[period\]/],
    [
      `TIME_FLOOR(${july}, 'P1D', NULL, 'Asia/Nowhere')`,
      /Function \[TIME_FLOOR\]: Invalid value \[Asia\/Nowhere\] for \[time zone\]/,
    ],
    [
      `TIME_FLOOR(${july}, lower('P1D'))`,
      /Argument \[2\] of function \[TIME_FLOOR\] is an expression: expected a string literal/,
    ],
    [
      `FLOOR(${july} TO FORTNIGHT)`,
      /Function \[FLOOR\]: Invalid value \[FORTNIGHT\] for \[unit\]: expected one of \[YEAR/,
    ],
    [
      `TIMESTAMPADD(FORTNIGHT, 1, ${july})`,
      /Function \[TIMESTAMPADD\]: Invalid value \[FORTNIGHT\] for \[unit\]/,
    ],
    [`EXTRACT(ISOYEAR FROM ${july})`, /Function \[EXTRACT\]: Invalid value \[isoyear\] for \[unit\]/i],
    [
      `TIME_FORMAT(${july}, 'yyyy G')`,
      /Function \[TIME_FORMAT\]: Unsupported letters \[G\] in the pattern: expected one of \[y,/,
    ],
    [`TIME_FORMAT(${july}, 'yyyy''')`, /Function \[TIME_FORMAT\]: Pattern \[yyyy'\] has an unclosed quote/],
    [`TIME_PARSE('01', 'yy')`, /Function \[TIME_PARSE\]: Unsupported letters \[yy\] in the pattern/],
    [`TIME_PARSE('2001-W05-1')`, /TIME_PARSE does not support weeks/],
    [`TIME_IN_INTERVAL(${july}, 'x')`, /Function \[TIME_IN_INTERVAL\]: Invalid value \[x\] for \[interval\]/],
    [
      `REGEXP_REPLACE('a', '(a)', '$10')`,
      /Function \[REGEXP_REPLACE\]: Invalid value \[\$10\] for \[replacement\]/,
    ],
    [`STRING_TO_MV('a,b', ',')`, /Unsupported function \[string_to_mv\]/],
    [`STRING_FORMAT('%d', 1)`, /Unsupported function \[string_format\]/],
    [`svc_first_bytes('a', 1)`, /Unsupported function \[svc_first_bytes\]/],
    [
      `EARLIEST('a' ORDER BY 1)`,
      /Function \[earliest\] has an ORDER BY: expected none, because the function already orders rows by __time/,
    ],
    [`svc_1_time_floor(${july}, 'P1D')`, /Unsupported function \[svc_1_time_floor\]/],
    [`svc_0_body(${july})`, /Unsupported function \[svc_0_body\]/],
    ['EARLIEST()', /Invalid number of arguments \[0\] for function \[earliest\]: expected 1 to 2/],
    [
      `EARLIEST('a', 1 + 1)`,
      /Invalid value \[1 \+ 1\] for the max bytes argument of function \[earliest\]: expected an integer/,
    ],
  ]
  for (const [expression, message] of cases) {
    it(expression, async () => {
      await assert.rejects(query(`SELECT ${expression}`), { code: 'invalidInput', message })
    })
  }

  it('an unknown column after a rewritten call, with its original location', async () => {
    const sql = `SELECT 'ä', EARLIEST(page), TIMESTAMPADD(DAY, 1, __time),\n nope FROM wiki`
    await assert.rejects(query(sql, { files }), { message: /^Line \[2\], column \[2\]: .*nope/ })
  })
})
