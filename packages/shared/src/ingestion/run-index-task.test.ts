import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { formatInterval } from '@svc/domain/time'
import fc from 'fast-check'
import { minTaskMemoryBytes } from '../config/index.ts'
import { createLocalDeepStorage } from '../deep-storage/index.ts'
import type { IndexProgress, IndexResult } from './run-index-task.ts'
import { inlineRows, inlineText, openBench, type TaskParts } from './test-task.ts'

const bench = await openBench()

const flightsFile = new URL('../../../../data/flights.csv', import.meta.url)
const flightsText = readFileSync(flightsFile, 'utf8')
const flights = flightsText
  .trimEnd()
  .split('\n')
  .slice(1)
  .map((line) => {
    const [time = '', delay, distance, origin = '', destination = ''] = line.split(',')
    return { time, delay: Number(delay), distance: Number(distance), origin, destination }
  })
const flightsTask: TaskParts = {
  dataSource: 'flights',
  timestampSpec: { column: 'time', format: 'iso' },
  inputSource: inlineText(flightsText),
  inputFormat: { type: 'csv', findColumnsFromHeader: true },
}

const days = (result: IndexResult): string[] =>
  result.segments.map(({ interval }) => formatInterval(interval).slice(0, 10))

function assertWorkFolderEmpty(): void {
  assert.deepEqual(readdirSync(bench.workFolder), [])
}

describe('the flights sample', () => {
  it('is split into one segment per day, with the sorted rows of the day', async () => {
    const result = await bench.run(flightsTask)
    const perDay = Map.groupBy(flights, ({ time }) => time.slice(0, 10))
    assert.equal(perDay.size, 90)
    assert.deepEqual(days(result), [...perDay.keys()])
    assert.deepEqual(
      result.segments.map(({ totalRows }) => totalRows),
      [...perDay.values()].map((rows) => rows.length),
    )
    assert.deepEqual(
      { ...result, segments: [] },
      {
        rowsRead: 20_000,
        rowsWritten: 20_000,
        rowsUnparseable: 0,
        rowsThrownAway: 0,
        parseExceptions: [],
        columnsInNoRow: [],
        segments: [],
      },
    )
    for (const segment of result.segments) {
      const bytes = readFileSync(join(bench.storageFolder, segment.path))
      assert.equal(segment.sizeBytes, bytes.length)
      assert.equal(segment.checksum, `sha256:${createHash('sha256').update(bytes).digest('hex')}`)
      assert.deepEqual(segment.dimensions, ['delay', 'distance', 'origin', 'destination'])
      assert.deepEqual(segment.metrics, [])
    }
    const stored = await bench.rows(
      result,
      `strftime(__time, '%Y-%m-%dT%H:%M:%SZ') AS time, delay::INT AS delay, distance::INT AS distance, origin, destination`,
    )
    // Compare all fields in column order, so that rows of the same minute have a defined order.
    const sorted = [...flights].sort(
      (a, b) =>
        a.time.localeCompare(b.time) ||
        a.delay - b.delay ||
        a.distance - b.distance ||
        a.origin.localeCompare(b.origin) ||
        a.destination.localeCompare(b.destination),
    )
    assert.deepEqual(stored, sorted)
    const [types] = await bench.rows(
      result,
      'typeof(__time) AS t, typeof(delay) AS d, typeof(origin) AS o',
      'LIMIT 1',
    )
    assert.deepEqual(types, { t: 'TIMESTAMP', d: 'BIGINT', o: 'VARCHAR' })
    assertWorkFolderEmpty()
  })

  it('can be ingested again, into other files with the same rows', async () => {
    const first = await bench.run(flightsTask)
    const second = await bench.run(flightsTask)
    const paths = new Set([...first.segments, ...second.segments].map(({ path }) => path))
    assert.equal(paths.size, 180)
    assert.deepEqual(
      second.segments.map(({ checksum }) => checksum),
      first.segments.map(({ checksum }) => checksum),
    )
  })

  it('is rolled up to hours', async () => {
    const result = await bench.run({
      ...flightsTask,
      dimensionsSpec: { dimensions: ['origin'] },
      metricsSpec: [
        { type: 'count', name: 'flights' },
        { type: 'longSum', name: 'delay', fieldName: 'delay' },
        { type: 'longMin', name: 'earliest', fieldName: 'delay' },
        { type: 'doubleMax', name: 'farthest', fieldName: 'distance' },
        { type: 'floatSum', name: 'miles', fieldName: 'distance' },
      ],
      granularitySpec: { segmentGranularity: 'MONTH', queryGranularity: 'HOUR', rollup: true },
    })
    const groups = Map.groupBy(flights, ({ time, origin }) => `${time.slice(0, 13)} ${origin}`)
    const expected = [...groups].map(([key, rows]) => ({
      key,
      flights: String(rows.length),
      delay: String(rows.reduce((sum, row) => sum + row.delay, 0)),
      earliest: String(Math.min(...rows.map((row) => row.delay))),
      farthest: Math.max(...rows.map((row) => row.distance)),
      miles: rows.reduce((sum, row) => sum + row.distance, 0),
    }))
    assert.deepEqual(days(result), ['2001-01-01', '2001-02-01', '2001-03-01'])
    assert.equal(result.rowsRead, 20_000)
    assert.equal(result.rowsWritten, groups.size)
    assert.deepEqual(result.segments[0]?.metrics, ['flights', 'delay', 'earliest', 'farthest', 'miles'])
    assert.deepEqual(
      await bench.rows(
        result,
        "strftime(__time, '%Y-%m-%dT%H ') || origin AS key, flights, delay, earliest, farthest, miles",
      ),
      expected.sort((a, b) => (a.key < b.key ? -1 : 1)),
    )
  })

  it('is split into segments with a max number of rows', async () => {
    const result = await bench.run({
      ...flightsTask,
      granularitySpec: { segmentGranularity: 'MONTH' },
      tuningConfig: { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 3000 } },
    })
    const january = result.segments.filter(({ interval }) => interval.start === Date.UTC(2001, 0, 1))
    const all = flights.filter(({ time }) => time < '2001-02').length
    assert.equal(january.length, Math.ceil(all / 3000))
    assert.ok(january.every(({ totalRows }) => totalRows <= 3000 && totalRows >= all / january.length - 1))
    assert.deepEqual(
      january.map(({ path }) => path.split('/').at(-1)),
      january.map((_, index) => `${index}.parquet`),
    )
    const [sum] = await bench.rows(result, 'count(*)::INT AS n, sum(delay)::INT AS delay')
    assert.deepEqual(sum, { n: 20_000, delay: flights.reduce((total, { delay }) => total + delay, 0) })
    const spans: unknown[] = []
    for (const segment of january) {
      const one = { ...result, segments: [segment] }
      const [span] = await bench.rows(
        one,
        'epoch_ms(min(__time))::BIGINT AS first, epoch_ms(max(__time))::BIGINT AS last, count(*)::INT AS n',
      )
      assert.equal(span?.n, segment.totalRows)
      spans.push(Number(span?.first), Number(span?.last))
    }
    assert.deepEqual(
      spans,
      [...spans].sort((a, b) => Number(a) - Number(b)),
    )
  })

  it('is limited to the intervals of the task', async () => {
    const result = await bench.run({
      ...flightsTask,
      granularitySpec: { intervals: ['2001-01-05/2001-01-07', '2001-02-01/P1D'] },
    })
    assert.deepEqual(days(result), ['2001-01-05', '2001-01-06', '2001-02-01'])
    assert.equal(result.rowsRead, 20_000)
    assert.equal(result.rowsThrownAway, 20_000 - result.rowsWritten)
  })

  const oneRow = { t: '2026-01-01', a: 1, b: null }
  const named = ['a', 'zz', 'b']
  const noRows: { name: string; parts: Parameters<typeof bench.run>[0]; expect: string[] }[] = [
    {
      name: 'JSON',
      parts: { inputSource: inlineRows(oneRow), dimensionsSpec: { dimensions: named } },
      expect: ['zz', 'b'],
    },
    {
      name: 'CSV',
      parts: {
        inputSource: inlineText('t,a,b\n2026-01-01,1,\n'),
        inputFormat: { type: 'csv', findColumnsFromHeader: true },
        dimensionsSpec: { dimensions: named },
      },
      expect: ['zz'],
    },
    { name: 'JSON with discovered columns', parts: { inputSource: inlineRows(oneRow) }, expect: [] },
    {
      name: 'no rows',
      parts: { inputSource: inlineText(''), dimensionsSpec: { dimensions: named } },
      expect: [],
    },
  ]
  for (const { name, parts, expect } of noRows) {
    it(`reports named columns that no row has: ${name}`, async () => {
      let last: IndexProgress | undefined
      const result = await bench.run(parts, {
        onProgress: (progress) => {
          last = progress
        },
      })
      assert.deepEqual(result.columnsInNoRow, expect)
      assert.deepEqual([last?.phase, last?.columnsInNoRow ?? []], ['writing', expect])
    })
  }

  it('reports its progress', async () => {
    const seen: IndexProgress[] = []
    await bench.run(flightsTask, { onProgress: (progress) => seen.push(progress) })
    const phases = [...new Set(seen.map(({ phase }) => phase))]
    assert.deepEqual(phases, ['fetching', 'reading', 'writing'])
    const writing = seen.filter(({ phase }) => phase === 'writing')
    assert.deepEqual(writing[0], {
      phase: 'writing',
      fraction: 0,
      rowsRead: 20_000,
      rowsWritten: 0,
      segmentsWritten: 0,
    })
    assert.deepEqual(writing.at(-1), {
      phase: 'writing',
      fraction: 1,
      rowsRead: 20_000,
      rowsWritten: 20_000,
      segmentsWritten: 90,
    })
    const fractions = writing.map(({ fraction }) => fraction ?? 0)
    assert.deepEqual(
      fractions,
      [...fractions].sort((a, b) => a - b),
    )
  })
})

describe('segments', () => {
  it('with granularity ALL: a single one for all of time', async () => {
    const result = await bench.run({
      inputSource: inlineRows({ t: '1900-01-01', a: 1 }, { t: '2100-01-01', a: 2 }),
      granularitySpec: { segmentGranularity: 'ALL' },
    })
    assert.equal(result.segments.length, 1)
    assert.deepEqual(result.segments[0]?.interval, { start: -Infinity, end: Infinity })
    assert.equal(
      result.segments[0]?.path.split('/')[1],
      '-146136543-09-08T08:23:32.096Z_146140482-04-24T15:36:27.903Z',
    )
  })

  it('keep their rows if the query granularity is coarser', async () => {
    for (const queryGranularity of ['WEEK', 'ALL']) {
      const result = await bench.run({
        inputSource: inlineRows({ t: '2026-01-01T05:00:00Z', a: 'x' }, { t: '2026-01-01T06:00:00Z', a: 'x' }),
        granularitySpec: { segmentGranularity: 'DAY', queryGranularity, rollup: true },
        metricsSpec: [{ type: 'count', name: 'n' }],
      })
      assert.deepEqual(days(result), ['2026-01-01'])
      assert.deepEqual(await bench.rows(result, 'epoch_ms(__time)::BIGINT AS t, a, n'), [
        { t: String(Date.UTC(2026, 0, 1)), a: 'x', n: '2' },
      ])
    }
  })

  it('contain all rows of each bucket that overlaps the intervals', async () => {
    const result = await bench.run({
      inputSource: inlineRows(
        { t: '2025-12-31T23:59:59.999Z' },
        { t: '2026-01-01' },
        { t: '2026-01-01T23:00:00Z' },
        { t: '2026-01-02' },
      ),
      granularitySpec: { intervals: ['2026-01-01T12:00:00Z/2026-01-01T13:00:00Z'] },
    })
    assert.deepEqual(days(result), ['2026-01-01'])
    assert.deepEqual([result.rowsWritten, result.rowsThrownAway], [2, 2])
  })

  it('have safe paths for any datasource name', async () => {
    for (const dataSource of [
      'a..',
      ' a b ',
      'Größe',
      "o'hara",
      'x'.repeat(255),
      '日'.repeat(255),
      '%2E',
      'a\\b',
    ]) {
      const result = await bench.run({ dataSource, inputSource: inlineRows({ t: '2026-01-01' }) })
      const [path = ''] = result.segments.map((segment) => segment.path)
      assert.match(
        path,
        /^[%\w:~-][%\w:.~-]*\/2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z\/task%20\d+\/0\.parquet$/,
      )
      assert.ok(existsSync(join(bench.storageFolder, path)))
      assert.ok(path.split('/').every((part) => part.length <= 255))
    }
  })

  it('are not written without rows', async () => {
    const csv = { type: 'csv', findColumnsFromHeader: true }
    const cases: TaskParts[] = [
      { inputSource: inlineText('') },
      { inputSource: inlineText('\n\n') },
      { inputSource: inlineText(''), inputFormat: csv },
      { inputSource: inlineText('t,a\n'), inputFormat: csv },
      { inputSource: inlineText(''), inputFormat: { type: 'csv', columns: ['t', 'a'] } },
      { inputSource: inlineRows({ t: '2026-01-01' }), granularitySpec: { intervals: ['2025-01-01/P1D'] } },
    ]
    for (const parts of cases) {
      const result = await bench.run(parts)
      assert.deepEqual(result.segments, [])
      assert.equal(result.rowsWritten, 0)
    }
  })

  it('contain exactly the rows of any input', async () => {
    const row = fc.record({
      t: fc.integer({ min: Date.UTC(2025, 11, 28), max: Date.UTC(2026, 0, 4) }),
      s: fc.option(fc.string({ unit: 'grapheme', maxLength: 5 })),
      n: fc.option(fc.integer()),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (rows, max) => {
          const result = await bench.run({
            inputSource: inlineRows(...rows),
            timestampSpec: { column: 't', format: 'millis' },
            dimensionsSpec: { dimensions: ['s', { type: 'long', name: 'n' }] },
            tuningConfig: { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: max } },
          })
          const stored =
            rows.length === 0 ? [] : await bench.rows(result, 'epoch_ms(__time)::BIGINT AS t, s, n')
          const asText = (all: readonly object[]): string[] =>
            all.map((one) => JSON.stringify(Object.values(one).map((value) => value ?? null))).sort()
          assert.deepEqual(
            asText(stored.map(({ t, s, n }) => ({ t: Number(t), s, n: n === null ? null : Number(n) }))),
            asText(rows.map(({ t, s, n }) => ({ t, s, n }))),
          )
          assert.ok(result.segments.every(({ totalRows }) => totalRows >= 1 && totalRows <= max))
          assert.equal(result.rowsWritten, rows.length)
        },
      ),
      { numRuns: 12 },
    )
  })
})

describe('columns', () => {
  const types = async (result: IndexResult, ...names: string[]): Promise<unknown> =>
    (await bench.rows(result, names.map((name) => `typeof("${name}") AS "${name}"`).join(', '), 'LIMIT 1'))[0]

  it('discovered in JSON keep the common type of their values', async () => {
    const result = await bench.run({
      inputSource: inlineRows(
        {
          t: '2026-01-01',
          i: 1,
          f: 1.5,
          b: true,
          s: '7',
          mixed: 1,
          nested: { a: [1] },
          big: 1,
          none: null,
          late: null,
        },
        {
          t: '2026-01-02',
          i: -9007199254740991,
          f: 2,
          b: false,
          s: '8',
          mixed: 'x',
          nested: null,
          big: 2,
          none: null,
        },
        { t: '2026-01-03', i: null, late: 3 },
      ),
    })
    assert.deepEqual(result.segments[0]?.dimensions, [
      'i',
      'f',
      'late',
      'b',
      's',
      'mixed',
      'nested',
      'big',
      'none',
    ])
    assert.deepEqual(await types(result, 'i', 'f', 'b', 's', 'mixed', 'nested', 'none', 'late'), {
      i: 'BIGINT',
      f: 'DOUBLE',
      b: 'BOOLEAN',
      s: 'VARCHAR',
      mixed: 'VARCHAR',
      nested: 'VARCHAR',
      none: 'VARCHAR',
      late: 'BIGINT',
    })
    const [first, second] = await bench.rows(result, 'i, f, b, s, mixed, nested')
    assert.deepEqual(first, { i: '1', f: 1.5, b: true, s: '7', mixed: '1', nested: '{"a":[1]}' })
    assert.deepEqual(second, { i: '-9007199254740991', f: 2, b: false, s: '8', mixed: 'x', nested: null })
  })

  it('of JSON with integers beyond 64 bits are stored as strings', async () => {
    const result = await bench.run({
      inputSource: inlineText(
        '{"t":"2026-01-01","id":9223372036854775808}\n{"t":"2026-01-01","id":9223372036854775807}',
      ),
    })
    assert.deepEqual(await bench.rows(result, 'id', 'ORDER BY id'), [
      { id: '9223372036854775807' },
      { id: '9223372036854775808' },
    ])
    assert.deepEqual(await types(result, 'id'), { id: 'VARCHAR' })
  })

  it('discovered in CSV are numbers only if nothing is lost', async () => {
    const result = await bench.run({
      inputSource: inlineText(
        [
          't,whole,fraction,zip,plus,long,empty,text',
          '2026-01-01,1,1.5,00501,+5,12345678901234567890,,a',
          '2026-01-01,-20,2,10001,6,1,,',
          '2026-01-01,9223372036854775807,-0.25,10002,7,2,,7',
        ].join('\n'),
      ),
      inputFormat: { type: 'csv', findColumnsFromHeader: true },
    })
    assert.deepEqual(await types(result, 'whole', 'fraction', 'zip', 'plus', 'long', 'empty', 'text'), {
      whole: 'BIGINT',
      fraction: 'DOUBLE',
      zip: 'VARCHAR',
      plus: 'VARCHAR',
      long: 'VARCHAR',
      empty: 'VARCHAR',
      text: 'VARCHAR',
    })
    assert.deepEqual(await bench.rows(result, 'zip, plus, long', "WHERE zip = '00501'"), [
      { zip: '00501', plus: '+5', long: '12345678901234567890' },
    ])
  })

  it('named in the task have the types of the task', async () => {
    const result = await bench.run({
      inputSource: inlineRows(
        { t: 5, s: 5, l: '7.9', d: '1e3', f: 0.5 },
        { t: 6, s: [1, 2], l: '', d: null },
      ),
      dimensionsSpec: {
        dimensions: [
          's',
          { type: 'long', name: 'l' },
          { type: 'double', name: 'd' },
          { type: 'float', name: 'f' },
          'none',
        ],
      },
    })
    assert.deepEqual(await types(result, 's', 'l', 'd', 'f', 'none'), {
      s: 'VARCHAR',
      l: 'BIGINT',
      d: 'DOUBLE',
      f: 'FLOAT',
      none: 'VARCHAR',
    })
    assert.deepEqual(await bench.rows(result, '* EXCLUDE (__time)'), [
      { s: '5', l: '7', d: 1000, f: 0.5, none: null },
      { s: '[1,2]', l: null, d: null, f: null, none: null },
    ])
  })

  it('that are excluded, used by metrics, or the timestamp are not dimensions', async () => {
    const result = await bench.run({
      inputSource: inlineRows({ t: '2026-01-01', a: 1, b: 2, c: 3, d: 4, __time: 5 }),
      dimensionsSpec: { dimensionExclusions: ['b'] },
      metricsSpec: [{ type: 'doubleSum', name: 'd', fieldName: 'c' }],
    })
    assert.deepEqual(result.segments[0]?.dimensions, ['a'])
    assert.deepEqual(await bench.rows(result, 'a, d'), [{ a: '1', d: 3 }])
  })

  it('may have any name', async () => {
    const names = ['a"b', "a'b", 'a/b', 'a~b', '~1', 'a b', '$.a', 'größe', '日本', 'select', 'a,b', '%', '0']
    const row = Object.fromEntries(names.map((name, index) => [name, `v${index}`]))
    const discovered = await bench.run({ inputSource: inlineRows({ t: '2026-01-01', ...row }) })
    const named = await bench.run({
      inputSource: inlineRows({ t: '2026-01-01', ...row }),
      dimensionsSpec: { dimensions: names },
    })
    const quoted = names.map((name) => `"${name.replaceAll('"', '""')}"`).join(',')
    const csv = await bench.run({
      inputSource: inlineText(`t,${quoted}\n2026-01-01,${names.map((_, index) => `v${index}`).join(',')}`),
      inputFormat: { type: 'csv', findColumnsFromHeader: true },
    })
    for (const result of [discovered, named, csv]) {
      assert.deepEqual(new Set(result.segments[0]?.dimensions), new Set(names))
      assert.deepEqual(await bench.rows(result, '* EXCLUDE (__time)'), [row])
    }
  })

  it('that differ only in case must be named in the task', async () => {
    const input = inlineRows({ t: '2026-01-01', user: 'a', User: 'b' })
    await assert.rejects(bench.run({ inputSource: input }), {
      code: 'invalidInput',
      message:
        'Columns [user] and [User] of the input differ only in case. List the dimensions to ingest in [spec.dataSchema.dimensionsSpec.dimensions]',
    })
    const result = await bench.run({ inputSource: input, dimensionsSpec: { dimensions: ['User'] } })
    assert.deepEqual(await bench.rows(result, 'User'), [{ User: 'b' }])
    const metric = { inputSource: input, metricsSpec: [{ type: 'count', name: 'USER' }] }
    await assert.rejects(bench.run(metric), {
      message: /^Column \[user\] of the input and metric \[USER\] differ only in case\. List the dimensions/,
    })
  })

  it('with control characters in the name are rejected', async () => {
    for (const name of ['a\0b', 'a\nb', '\u0085']) {
      await assert.rejects(bench.run({ inputSource: inlineRows({ t: '2026-01-01', [name]: 1 }) }), {
        code: 'invalidInput',
        message:
          /^Invalid column name \[.*\\u00.*\] in the input: expected a name without control characters/,
      })
      const result = await bench.run({
        inputSource: inlineRows({ t: '2026-01-01', [name]: 1, user: 'a' }),
        dimensionsSpec: { dimensions: ['user'] },
      })
      assert.deepEqual(await bench.rows(result, '* EXCLUDE (__time)'), [{ user: 'a' }])
    }
  })

  it('keep values with a NUL', async () => {
    const result = await bench.run({ inputSource: inlineRows({ t: '2026-01-01', user: 'a\0b' }) })
    assert.deepEqual(await bench.rows(result, 'user'), [{ user: 'a\0b' }])
  })

  it('without a name are rejected', async () => {
    await assert.rejects(bench.run({ inputSource: inlineRows({ t: '2026-01-01', '': 1 }) }), {
      message:
        'The input has a column without a name. List the dimensions to ingest in [spec.dataSchema.dimensionsSpec.dimensions]',
    })
  })

  it('of a metric that overflows fail the task', async () => {
    const max = '9223372036854775807'
    await assert.rejects(
      bench.run({
        inputSource: inlineText(`{"t":"2026-01-01","a":${max}}\n{"t":"2026-01-01","a":${max}}`),
        dimensionsSpec: { dimensions: ['x'] },
        metricsSpec: [{ type: 'longSum', name: 'a', fieldName: 'a' }],
        granularitySpec: { rollup: true },
      }),
      { code: 'invalidInput', message: /^Failed to read the input: .*out of range/ },
    )
  })

  it('of a metric are null if no row has a value', async () => {
    const result = await bench.run({
      inputSource: inlineRows({ t: '2026-01-01', a: null }, { t: '2026-01-01' }),
      dimensionsSpec: { dimensions: ['x'] },
      metricsSpec: [
        { type: 'longSum', name: 'a', fieldName: 'a' },
        { type: 'doubleMin', name: 'b', fieldName: 'never' },
        { type: 'count', name: 'n' },
      ],
      granularitySpec: { rollup: true },
    })
    assert.deepEqual(await bench.rows(result, 'a, b, n'), [{ a: null, b: null, n: '2' }])
  })
})

describe('invalid rows', () => {
  const good = { t: '2026-01-01', a: 'x', n: 1 }
  const dimensionsSpec = { dimensions: ['a', { type: 'long', name: 'n' }] }
  const csv = { type: 'csv', findColumnsFromHeader: true }
  const cases: { name: string; given: TaskParts; message: string }[] = [
    {
      name: 'an invalid timestamp',
      given: { inputSource: inlineRows(good, { ...good, t: 'soon', secret: 'abc' }), dimensionsSpec },
      message:
        'Invalid value [soon] for timestamp column [t] in row [2] of file [inline data]: expected format [auto]',
    },
    {
      name: 'a missing timestamp',
      given: { inputSource: inlineRows(good, { a: 'x' }), dimensionsSpec },
      message:
        'Missing value for timestamp column [t] in row [2] of file [inline data]: expected format [auto]',
    },
    {
      name: 'a very long timestamp',
      given: { inputSource: inlineRows(good, good, { t: 'z'.repeat(5000) }), dimensionsSpec },
      message: `Invalid value [${'z'.repeat(60)}…] for timestamp column [t] in row [3] of file [inline data]: expected format [auto]`,
    },
    {
      name: 'an invalid number',
      given: { inputSource: inlineRows(good, { ...good, n: 'many' }), dimensionsSpec },
      message: 'Invalid value [many] for column [n] in row [2] of file [inline data]: expected a BIGINT',
    },
    {
      name: 'an invalid metric',
      given: {
        inputSource: inlineRows(good, { ...good, n: 'NaN' }),
        dimensionsSpec: { dimensions: ['a'] },
        metricsSpec: [{ type: 'doubleSum', name: 'sum', fieldName: 'n' }],
      },
      message: 'Invalid value [NaN] for column [n] in row [2] of file [inline data]: expected a DOUBLE',
    },
    {
      name: 'a line that is not valid JSON',
      given: {
        inputSource: inlineText(`${JSON.stringify(good)}\n{"t":\n${JSON.stringify(good)}`),
        dimensionsSpec,
      },
      message: 'Invalid row [2] of file [inline data]: expected a JSON object',
    },
    {
      name: 'a line with two objects',
      given: {
        inputSource: inlineText(`${JSON.stringify(good)}\n${JSON.stringify(good).repeat(2)}`),
        dimensionsSpec,
      },
      message: 'Invalid row [2] of file [inline data]: expected a JSON object',
    },
    {
      name: 'a list instead of lines',
      given: { inputSource: inlineText(JSON.stringify([good, good])) },
      message: 'Invalid row [1] of file [inline data]: expected a JSON object',
    },
    {
      name: 'a number instead of an object',
      given: { inputSource: inlineText(`${JSON.stringify(good)}\n5`) },
      message: 'Invalid row [2] of file [inline data]: expected a JSON object',
    },
    {
      name: 'a CSV line with too many values',
      given: { inputSource: inlineText('t,a\n2026-01-01,x\n2026-01-01,secret,secret\n'), inputFormat: csv },
      message: 'Invalid line [3] of file [inline data]: Expected Number of Columns: 2 Found: 3',
    },
    {
      name: 'a CSV line with too few values',
      given: { inputSource: inlineText('t,a\n2026-01-01\n2026-01-01,x\n'), inputFormat: csv },
      message: 'Invalid line [2] of file [inline data]: Expected Number of Columns: 2 Found: 1',
    },
    {
      name: 'a CSV line with an unbalanced quote',
      given: { inputSource: inlineText('t,a\n2026-01-01,"sec"ret\n2026-01-01,x\n'), inputFormat: csv },
      message: 'Invalid line [2] of file [inline data]: Value with unterminated quote found.',
    },
  ]
  for (const { name, given, message } of cases) {
    it(`fail the task by default: ${name}`, async () => {
      const before = bench.storedFiles()
      await assert.rejects(bench.run(given), {
        code: 'invalidInput',
        message: `The input has more than [0] invalid rows, the limit set by [spec.tuningConfig.maxParseExceptions]. First invalid row: ${message}`,
      })
      assert.deepEqual(bench.storedFiles(), before)
      assertWorkFolderEmpty()
    })

    it(`are skipped if the task allows it: ${name}`, async () => {
      const result = await bench.run({ ...given, tuningConfig: { maxParseExceptions: 1 } })
      assert.equal(result.rowsUnparseable, 1)
      assert.equal(result.rowsWritten, result.rowsRead - 1)
      assert.deepEqual(result.parseExceptions, [message])
    })
  }

  it('of all kinds are counted, and the first 10 are reported', async () => {
    const lines = [
      't,n',
      '2026-01-01,1',
      ...Array.from({ length: 8 }, () => 'soon,1'),
      '1',
      '2026-01-01,x',
      '1,2,3',
    ]
    const parts: TaskParts = {
      inputSource: inlineText(lines.join('\n')),
      inputFormat: csv,
      dimensionsSpec: { dimensions: [{ type: 'long', name: 'n' }] },
    }
    const result = await bench.run({ ...parts, tuningConfig: { maxParseExceptions: 11 } })
    assert.deepEqual([result.rowsRead, result.rowsWritten, result.rowsUnparseable], [12, 1, 11])
    assert.equal(result.parseExceptions.length, 10)
    await assert.rejects(bench.run({ ...parts, tuningConfig: { maxParseExceptions: 10 } }), {
      message:
        'The input has more than [10] invalid rows, the limit set by [spec.tuningConfig.maxParseExceptions]. First invalid row: Invalid line [11] of file [inline data]: Expected Number of Columns: 2 Found: 1',
    })
  })

  it('can get a default timestamp', async () => {
    const result = await bench.run({
      inputSource: inlineRows({ t: null, a: 1 }, { a: 2 }, { t: '', a: 3 }),
      timestampSpec: { column: 't', missingValue: '2026-05-05' },
    })
    assert.deepEqual(days(result), ['2026-05-05'])
    assert.equal(result.rowsWritten, 3)
  })

  it('are not read if the timestamp column does not exist', async () => {
    await assert.rejects(bench.run({ inputSource: inlineText('time,a\n2026-01-01,x\n'), inputFormat: csv }), {
      code: 'invalidInput',
      message:
        'Invalid value [t] for [spec.dataSchema.timestampSpec.column]: expected one of the input columns [time, a]',
    })
  })

  it('fail the task if they span too many intervals', async () => {
    const rows = Array.from({ length: 100_001 }, (_, second) => `{"t":${second * 1000}}`)
    await assert.rejects(
      bench.run({
        inputSource: inlineText(rows.join('\n')),
        granularitySpec: { segmentGranularity: 'SECOND' },
      }),
      {
        message:
          'Invalid value [SECOND] for [spec.dataSchema.granularitySpec.segmentGranularity]: expected a granularity that divides the input into at most [100000] intervals',
      },
    )
  })
})

describe('a task that fails', () => {
  it('leaves nothing behind if it cannot write to deep storage', async () => {
    const blocked = join(bench.inputFolder, 'not-a-folder')
    writeFileSync(blocked, '')
    await assert.rejects(
      bench.run(flightsTask, { deepStorage: createLocalDeepStorage({ rootDirectory: blocked }) }),
      { code: 'unavailable', message: `Failed to write to deep storage [${blocked}]: ENOTDIR` },
    )
    assertWorkFolderEmpty()
  })

  it('removes the segments that it already pushed', async () => {
    const storage = createLocalDeepStorage({ rootDirectory: bench.storageFolder })
    const before = bench.storedFiles()
    let pushes = 0
    await assert.rejects(
      bench.run(flightsTask, {
        deepStorage: {
          ...storage,
          push: async (file, path) => {
            pushes += 1
            if (pushes === 20) throw unavailable('Deep storage is unavailable')
            return await storage.push(file, path)
          },
        },
      }),
      { message: 'Deep storage is unavailable' },
    )
    assert.equal(pushes >= 20, true)
    assert.deepEqual(bench.storedFiles(), before)
    assertWorkFolderEmpty()
  })

  for (const phase of ['fetching', 'reading', 'writing'] as const) {
    it(`leaves nothing behind when it is stopped while ${phase}`, async () => {
      const before = bench.storedFiles()
      const stop = new AbortController()
      const reason = new Error('stopped')
      let seen = 0
      await assert.rejects(
        bench.run(flightsTask, {
          signal: stop.signal,
          onProgress: (progress) => {
            if (progress.phase !== phase) return
            seen += 1
            if (phase !== 'writing' || progress.segmentsWritten === 10) stop.abort(reason)
          },
        }),
        reason,
      )
      assert.ok(seen > 0)
      assert.deepEqual(bench.storedFiles(), before)
      assertWorkFolderEmpty()
    })
  }

  it('rejects a folder whose path DuckDB would expand', async () => {
    const workDirectory = join(bench.workFolder, 'a[1]')
    await assert.rejects(bench.run(flightsTask, { workDirectory }), {
      message: `Invalid task directory [${workDirectory}]: the path must not contain any of the characters * ? [`,
    })
    rmSync(workDirectory, { recursive: true })
  })

  it('ignores files that a killed run left in its folder', async () => {
    for (const name of ['rows.duckdb', 'rows.duckdb.wal']) writeFileSync(join(bench.workFolder, name), 'torn')
    const result = await bench.run({ inputSource: inlineRows({ t: '2026-01-01' }) })
    assert.equal(result.rowsWritten, 1)
    assertWorkFolderEmpty()
  })
})

describe('more rows than fit into memory', () => {
  it('are sorted on disk', async () => {
    const rows = 1_000_000
    // Together, the rows are larger than the min memory of a task.
    const filler = 'filler '.repeat(50)
    const spill = join(bench.workFolder, 'spill')
    let wasOnDisk = false
    const lines = ['t,a,b']
    for (let row = 0; row < rows; row++) {
      const mixed = (row * 7919) % rows
      lines.push(`${Date.UTC(2026, 0, 1) + (mixed % 40) * 86_400_000 + mixed},${mixed},${filler}${mixed}`)
    }
    writeFileSync(join(bench.inputFolder, 'many.csv'), lines.join('\n'))
    const result = await bench.run(
      {
        inputSource: { type: 'local', files: [join(bench.inputFolder, 'many.csv')] },
        inputFormat: { type: 'csv', findColumnsFromHeader: true },
      },
      {
        memoryLimitBytes: minTaskMemoryBytes,
        threads: 1,
        onProgress: () => {
          wasOnDisk ||= existsSync(spill) && readdirSync(spill).length > 0
        },
      },
    )
    assert.ok(wasOnDisk)
    assert.equal(result.segments.length, 40)
    const [sum] = await bench.rows(
      result,
      'count(*)::INT AS n, sum(a)::BIGINT AS a, count(DISTINCT b)::INT AS b',
    )
    assert.deepEqual(sum, { n: rows, a: String((rows * (rows - 1)) / 2), b: rows })
    const [unsorted] = await bench.rows(
      { ...result, segments: result.segments.slice(7, 8) },
      'count(*) FILTER (previous > __time)::INT AS n FROM (SELECT __time, lag(__time) OVER () AS previous',
      ')',
    )
    assert.deepEqual(unsorted, { n: 0 })
  })
})
