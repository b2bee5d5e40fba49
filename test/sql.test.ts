// SQL over the example data set, in the secure profile: answers equal those of plain DuckDB on the same CSV,
// callers see only what they can read, and crashed servers make an answer late but never smaller.

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { openEngine } from '@svc/shared/ingestion'
import { waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { storedSegments } from './support/segments.ts'
import { querySql, sqlRows } from './support/sql.ts'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { newTestFolder } from './support/test-folder.ts'
import { addUsers, credentialsOf } from './support/test-users.ts'
import { untilLoaded } from './support/until-loaded.ts'

const cluster = await startTestCluster({
  profile: 'secure',
  historicals: '_default_tier=2',
  set: ['coordinator.svc.coordinator.period=PT0.5S', 'broker.svc.query.maxRows=2000000'],
})
after(() => cluster.end())
const { router, store, home } = cluster
const defaultRules = '/svc/coordinator/v1/rules/_default'
const load = (copies: number) => [{ type: 'loadForever', tieredReplicants: { _default_tier: copies } }]

await router.post(defaultRules, load(2))
await runTask(router, flightsTask())
await runTask(router, flightsTask({ dataSource: 'secret', segmentGranularity: 'MONTH' }))
await untilLoaded(router)
const total = [[flights.rows, 14_476_934]]
const totals = 'SELECT count(*), sum(distance) FROM flights'

describe('time conditions', () => {
  const fetched = (): number =>
    readdirSync(path.join(home.query, 'broker', 'segments')).filter((name) => name.endsWith('.parquet'))
      .length
  const from = `FROM flights WHERE __time >= TIMESTAMP '2001-02-10' AND __time < TIMESTAMP '2001-02-12'`

  test('avoid fetching files of other times, without changing the answer', async () => {
    const narrow = [`SELECT count(*), sum(distance) ${from}`, `SELECT * ${from} ORDER BY ALL`]
    const answers = [await sqlRows(router, narrow[0] as string), await sqlRows(router, narrow[1] as string)]
    // Two days, and those that one more millisecond would touch.
    assert.ok(fetched() >= 2 && fetched() <= 4, String(fetched()))
    assert.deepEqual(await sqlRows(router, totals), total)
    assert.equal(fetched(), flights.days)
    // A condition that cannot be evaluated in advance needs all files.
    const full = narrow.map((query) =>
      query
        .replaceAll('__time >=', '__time + INTERVAL 0 DAY >=')
        .replaceAll('__time <', '__time + INTERVAL 0 DAY <'),
    )
    assert.deepEqual(
      [await sqlRows(router, full[0] as string), await sqlRows(router, full[1] as string)],
      answers,
    )
  })

  test('that match no rows return the existing columns and types', async () => {
    const none = `FROM secret WHERE __time < TIMESTAMP '1999-01-01'`
    const before = fetched()
    assert.deepEqual(await sqlRows(router, `SELECT count(*), sum(distance), max(origin) ${none}`), [
      [0, null, null],
    ])
    const { text } = await querySql(router, `SELECT * ${none}`, { resultFormat: 'csv', header: true })
    assert.equal(text, '__time,origin,destination,distance\n\n')
    assert.equal(fetched(), before)
  })
})

describe('answers', () => {
  const folder = newTestFolder()
  mkdirSync(path.join(folder, 'spill'))
  const csv = path.join(repositoryRoot, 'data/flights.csv')
  const queries = [
    totals,
    'SELECT origin, count(*) AS n, sum(distance), min(distance), max(distance) FROM flights GROUP BY 1 ORDER BY 2 DESC, 1',
    `SELECT date_trunc('month', __time) AS m, count(DISTINCT destination) FROM flights GROUP BY 1 ORDER BY 1`,
    `SELECT count(*) FROM flights WHERE __time >= TIMESTAMP '2001-02-01' AND __time < TIMESTAMP '2001-02-02 12:00:00'`,
    'SELECT a.origin, count(*) FROM flights a JOIN flights b ON a.origin = b.destination AND a.__time = b.__time GROUP BY 1 ORDER BY 1',
    'SELECT __time, origin, destination, distance FROM flights ORDER BY 1, 2, 3, 4 LIMIT 100 OFFSET 5000',
    'SELECT origin, avg(distance) OVER (PARTITION BY origin) FROM flights ORDER BY 1, 2 LIMIT 50',
  ]
  for (const query of queries) {
    test(`equals plain DuckDB: ${query.slice(0, 70)}`, async () => {
      const engine = await openEngine({
        directories: [],
        files: [csv],
        spillDirectory: path.join(folder, 'spill'),
        memoryLimitBytes: 512 * 2 ** 20,
        threads: 1,
      })
      try {
        const plain = await engine.rows(
          `WITH flights AS (SELECT time::TIMESTAMP AS __time, * EXCLUDE (time) FROM read_csv('${csv}')) ${query}`,
        )
        const comparable = (value: unknown) =>
          typeof value === 'string' && /^\d{4}-/.test(value)
            ? Date.parse(value.replace(' ', 'T').replace(/Z?$/, 'Z'))
            : String(value)
        assert.deepEqual(
          (await sqlRows(router, query)).map((row) => row.map(comparable)),
          plain.map((row) => Object.values(row).map(comparable)),
        )
      } finally {
        engine.close()
      }
    })
  }

  test('a large answer is streamed completely', async () => {
    const { status, text } = await querySql(
      router,
      'SELECT a.origin, a.destination, r.range FROM flights a, range(50) r',
      { resultFormat: 'csv' },
    )
    assert.equal(status, 200)
    assert.ok(text.endsWith('\n\n'))
    assert.equal(text.split('\n').length - 2, 50 * flights.rows)
  })

  test('a truncated answer cannot be mistaken for a complete one', async () => {
    const query = 'SELECT a.origin, r.range FROM flights a, range(200) r'
    await assert.rejects(querySql(router, query, { resultFormat: 'csv' }))
  })

  test('supports parameters, header, and formats', async () => {
    const { text, headers } = await querySql(router, 'SELECT count(*) AS n FROM flights WHERE origin = ?', {
      resultFormat: 'csv',
      header: true,
      parameters: [{ type: 'VARCHAR', value: 'DFW' }],
    })
    assert.equal(text, 'n\n1103\n\n')
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8')
    assert.equal(headers['x-svc-sql-header-included'], 'yes')
  })
})

describe('the system tables', () => {
  test('segments', async () => {
    const [[count, rows, replicas, active]] = (await sqlRows(
      router,
      `SELECT count(*), sum(num_rows), min(num_replicas), sum(is_active * is_available * is_published)
       FROM sys.segments WHERE datasource = 'flights'`,
    )) as [[number, number, number, number]]
    assert.deepEqual([count, rows, replicas, active], [flights.days, flights.rows, 2, flights.days])
  })
  test('servers', async () => {
    assert.deepEqual(
      await sqlRows(
        router,
        'SELECT server_type, count(*), sum(is_leader) FROM sys.servers GROUP BY 1 ORDER BY 1',
      ),
      [
        ['broker', 1, null],
        ['coordinator', 1, 1],
        ['historical', 2, null],
        ['overlord', 1, 1],
        ['router', 1, null],
      ],
    )
    const [[held]] = (await sqlRows(router, 'SELECT count(*) FROM sys.server_segments')) as [[number]]
    assert.equal(held, 2 * (flights.days + 3))
  })
  test('tasks and supervisors', async () => {
    assert.deepEqual(
      await sqlRows(router, 'SELECT datasource, type, status, runner_status FROM sys.tasks ORDER BY 1'),
      [
        ['flights', 'index_parallel', 'SUCCESS', 'NONE'],
        ['secret', 'index_parallel', 'SUCCESS', 'NONE'],
      ],
    )
    assert.deepEqual(await sqlRows(router, 'SELECT supervisor_id FROM sys.supervisors'), [])
  })
  test('INFORMATION_SCHEMA', async () => {
    assert.deepEqual(
      await sqlRows(
        router,
        `SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS c
         JOIN INFORMATION_SCHEMA.TABLES USING (TABLE_SCHEMA, TABLE_NAME)
         WHERE c.TABLE_SCHEMA = 'svc' AND TABLE_NAME = 'flights' ORDER BY ORDINAL_POSITION`,
      ),
      [
        ['flights', '__time', 'TIMESTAMP'],
        ['flights', 'origin', 'VARCHAR'],
        ['flights', 'destination', 'VARCHAR'],
        ['flights', 'distance', 'BIGINT'],
      ],
    )
  })
})

describe('metadata queries of clients', () => {
  test('EXPLAIN PLAN FOR returns the resources and columns of a query', async () => {
    const sql = 'SELECT origin, count(*) AS n FROM flights WHERE distance > ? GROUP BY 1; -- all of them'
    const [row] = (
      await querySql(router, `EXPLAIN PLAN FOR ${sql}`, { parameters: [{ type: 'BIGINT', value: 1 }] })
    ).json as [Record<'PLAN' | 'RESOURCES' | 'ATTRIBUTES', string>]
    assert.deepEqual(JSON.parse(row.PLAN), [
      {
        query: { queryType: 'sql', query: sql },
        signature: [
          { name: 'origin', type: 'STRING' },
          { name: 'n', type: 'LONG' },
        ],
      },
    ])
    assert.deepEqual(JSON.parse(row.RESOURCES), [{ name: 'flights', type: 'DATASOURCE' }])
    assert.deepEqual(JSON.parse(row.ATTRIBUTES), { statementType: 'SELECT' })
  })

  for (const sql of ['EXPLAIN PLAN FOR DELETE FROM flights', 'EXPLAIN PLAN FOR EXPLAIN PLAN FOR SELECT 1']) {
    test(`${sql} is refused`, async () => {
      assert.equal((await querySql(router, sql)).status, 400)
    })
  }

  test('sqlOuterLimit limits the number of rows', async () => {
    const { json } = await querySql(router, 'SELECT * FROM flights ORDER BY __time', {
      context: { sqlOuterLimit: 11 },
    })
    assert.equal((json as unknown[]).length, 11)
  })

  test('the datasources, and the columns of one datasource', async () => {
    assert.deepEqual(await router.get('/svc/v2/datasources'), ['flights', 'secret'])
    assert.deepEqual(await router.get('/svc/v2/datasources/flights'), {
      dimensions: ['origin', 'destination'],
      metrics: ['distance'],
    })
    assert.deepEqual(await router.get('/svc/v2/datasources/koala'), { dimensions: [], metrics: [] })
  })
})

describe('permissions', async () => {
  const read = (type: 'DATASOURCE' | 'STATE', name: string) => ({
    resource: { type, name },
    action: 'READ' as const,
  })
  await addUsers(cluster, {
    nothing: [],
    reader: [read('DATASOURCE', 'flights')],
    writer: [{ resource: { type: 'DATASOURCE', name: '.*' }, action: 'WRITE' }],
    observer: [read('STATE', '.*')],
  })
  const statuses: readonly (readonly [string, Readonly<Record<string, number>>])[] = [
    ['SELECT 1', { nothing: 200, reader: 200, writer: 200, observer: 200 }],
    [totals, { nothing: 403, reader: 200, writer: 403, observer: 403 }],
    ['SELECT count(*) FROM secret', { nothing: 403, reader: 403 }],
    ['SELECT count(*) FROM nosuch', { nothing: 403, reader: 403 }],
    ['SELECT count(*) FROM svc.secret', { reader: 403 }],
    ['SELECT count(*) FROM "secret"', { reader: 403 }],
    ['SELECT count(*) FROM Flights', { reader: 403 }],
    ['SELECT count(*) FROM flights, secret', { reader: 403 }],
    ['SELECT (SELECT count(*) FROM secret) FROM flights', { reader: 403 }],
    ['SELECT count(*) FROM flights WHERE origin IN (SELECT origin FROM secret)', { reader: 403 }],
    ['WITH x AS (SELECT * FROM secret) SELECT count(*) FROM x', { reader: 403 }],
    ['WITH flights AS (SELECT * FROM secret) SELECT count(*) FROM flights', { reader: 403 }],
    ['WITH secret AS (SELECT * FROM secret) SELECT count(*) FROM secret', { reader: 403 }],
    ['WITH secret AS (SELECT 1 AS x) SELECT x FROM secret', { reader: 200, nothing: 200 }],
    ['SELECT count(*) FROM flights UNION ALL SELECT count(*) FROM secret', { reader: 403 }],
    ['SELECT * FROM (FROM secret)', { reader: 403 }],
    [
      'SELECT count(*) FROM flights f WHERE EXISTS (SELECT 1 FROM secret s WHERE s.origin = f.origin)',
      { reader: 403 },
    ],
    ['SELECT server FROM sys.servers', { nothing: 403, reader: 403, observer: 200 }],
    ['SELECT server FROM sys.server_segments', { nothing: 403, reader: 403, observer: 200 }],
  ]
  for (const [query, byUser] of statuses) {
    for (const [user, expected] of Object.entries(byUser)) {
      test(`${user}: ${expected} for ${query}`, async () => {
        const { status, text } = await querySql(router, query, { credentials: credentialsOf(user) })
        assert.equal(status, expected, text)
      })
    }
  }
  const filtered: Readonly<Record<string, readonly string[]>> = {
    'SELECT DISTINCT datasource FROM sys.segments': ['flights'],
    'SELECT DISTINCT datasource FROM sys.tasks': ['flights'],
    "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'svc'": ['flights'],
    "SELECT DISTINCT TABLE_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = 'svc'": ['flights'],
    'SELECT supervisor_id FROM sys.supervisors': [],
  }
  for (const [query, expected] of Object.entries(filtered)) {
    test(`lists show only readable datasources: ${query}`, async () => {
      const shown = await sqlRows(router, query, { credentials: credentialsOf('reader') })
      assert.deepEqual(shown.flat(), expected)
      const without = await querySql(router, query, { credentials: credentialsOf('nothing') })
      assert.equal(without.status, 403, without.text)
      assert.match(without.text, /expected \[READ\] on \[STATE\] or on at least one datasource/)
    })
  }
})

describe('invalid queries', () => {
  const cases: readonly { name: string; body: unknown; status: number; message: RegExp }[] = [
    { name: 'no body', body: {}, status: 400, message: /query/ },
    {
      name: 'a query that is not a string',
      body: { query: 1 },
      status: 400,
      message: /Invalid value \[1\] for \[query\]/,
    },
    {
      name: 'an unknown field',
      body: { query: 'SELECT 1', x: 1 },
      status: 400,
      message: /Unknown field \[x\]/,
    },
    {
      name: 'an unknown format',
      body: { query: 'SELECT 1', resultFormat: 'xml' },
      status: 400,
      message: /Invalid value \[xml\] for \[resultFormat\]: expected one of \[object/,
    },
    {
      name: 'an invalid timeout',
      body: { query: 'SELECT 1', context: { timeout: -1 } },
      status: 400,
      message: /context.timeout/,
    },
    {
      name: 'a timeout above the maximum',
      body: { query: 'SELECT 1', context: { timeout: 1e10 } },
      status: 400,
      message: /svc\.query\.maxTimeout/,
    },
    {
      name: 'a parameter with an unknown type',
      body: { query: 'SELECT ?', parameters: [{ type: 'X', value: 1 }] },
      status: 400,
      message: /Invalid value \[X\] for \[parameters\[0\]\.type\]/,
    },
    {
      name: 'a file',
      body: { query: `SELECT * FROM '/etc/passwd'` },
      status: 400,
      message: /Line \[1\], column \[15\]: Table \[\/etc\/passwd\] does not exist/,
    },
    {
      name: 'ten megabytes',
      body: { query: `SELECT '${'x'.repeat(10_000_000)}'` },
      status: 413,
      message: /larger than the limit of \[1048576\] bytes/,
    },
    {
      name: 'an endless cross join',
      body: {
        query:
          'SELECT count(*) FROM flights a, flights b, flights c, flights d WHERE a.distance + b.distance + c.distance + d.distance = 1',
        context: { timeout: 1500 },
      },
      status: 504,
      message: /timeout of \[1500\] ms/,
    },
  ]
  for (const { name, body, status, message } of cases) {
    test(`${name} is refused`, async () => {
      const answer = await router.send({ method: 'POST', path: '/svc/v2/sql', json: body })
      assert.equal(answer.status, status, answer.text)
      assert.match((answer.json as { errorMessage: string }).errorMessage, message)
    })
  }

  test('a query is canceled when its client disconnects', async () => {
    const leaving = new AbortController()
    const query =
      'SELECT count(*) FROM flights a, flights b, flights c, flights d WHERE a.distance + b.distance + c.distance + d.distance = 1'
    const { signal } = leaving
    const sent = router.send({ method: 'POST', path: '/svc/v2/sql', json: { query }, signal })
    const runsOne = () =>
      readdirSync(path.join(home.query, 'broker', 'work')).filter((name) => name !== 'parse').length
    await waitUntil('the query is running', runsOne, (count) => count > 0)
    leaving.abort()
    await assert.rejects(sent)
    await waitUntil('nothing of the query is left', runsOne, (count) => count === 0)
    assert.deepEqual(await sqlRows(router, totals), total)
  })
})

describe('native queries', () => {
  const request = (json: object, credentials?: string) =>
    router.send({
      method: 'POST',
      path: '/svc/v2',
      json,
      ...(credentials === undefined ? {} : { credentials }),
    })
  const dataSource = flights.dataSource
  const february = '2001-02-01/2001-03-01'

  test('timeBoundary', async () => {
    const [[min, max]] = (await sqlRows(router, 'SELECT min(__time), max(__time) FROM flights')) as [
      [string, string],
    ]
    assert.deepEqual((await request({ queryType: 'timeBoundary', dataSource })).json, [
      { timestamp: min, result: { minTime: min, maxTime: max } },
    ])
    assert.deepEqual((await request({ queryType: 'timeBoundary', dataSource, bound: 'maxTime' })).json, [
      { timestamp: max, result: { maxTime: max } },
    ])
    const never = { queryType: 'timeBoundary', dataSource, intervals: ['1999-01-01/2000-01-01'] }
    assert.deepEqual((await request(never)).json, [])
  })

  test('dataSourceMetadata', async () => {
    const [[max]] = (await sqlRows(router, 'SELECT max(__time) FROM flights')) as [[string]]
    const source = { type: 'table', name: dataSource }
    assert.deepEqual((await request({ queryType: 'dataSourceMetadata', dataSource: source })).json, [
      { timestamp: '2001-03-31T00:00:00.000Z', result: { maxIngestedEventTime: max } },
    ])
  })

  interface Batch {
    readonly segmentId: string
    readonly columns: readonly string[]
    readonly events: readonly unknown[]
  }

  test('scan of all rows', async () => {
    const batches = (await request({ queryType: 'scan', dataSource, batchSize: 100 })).json as Batch[]
    assert.ok(batches.every(({ events }) => events.length <= 100))
    assert.equal(
      batches.reduce((sum, { events }) => sum + events.length, 0),
      flights.rows,
    )
    const ids = (await storedSegments(store, dataSource)).map(({ id }) => id)
    assert.deepEqual([...new Set(batches.map(({ segmentId }) => segmentId))].sort(), ids)
    assert.deepEqual(batches[0]?.columns, ['__time', 'origin', 'destination', 'distance'])
  })

  test('scan of some columns of some rows', async () => {
    const query = {
      queryType: 'scan',
      dataSource,
      intervals: february,
      columns: ['__time', 'origin', 'none'],
      filter: {
        type: 'and',
        fields: [
          { type: 'selector', dimension: 'origin', value: 'DFW' },
          { type: 'not', field: { type: 'in', dimension: 'destination', values: ['LAX', 'ORD'] } },
        ],
      },
      order: 'ascending',
    }
    const expected = (await sqlRows(
      router,
      `SELECT epoch_ms(__time), origin, NULL FROM flights WHERE origin = 'DFW' AND destination NOT IN ('LAX', 'ORD')
       AND __time >= TIMESTAMP '2001-02-01' AND __time < TIMESTAMP '2001-03-01' ORDER BY 1`,
    )) as unknown[][]
    const compacted = (await request({ ...query, resultFormat: 'compactedList' })).json as Batch[]
    assert.deepEqual(
      compacted.flatMap(({ events }) => events),
      expected,
    )
    const list = (await request({ ...query, limit: 3, offset: 1 })).json as Batch[]
    assert.deepEqual(
      list.flatMap(({ events }) => events),
      expected.slice(1, 4).map(([time, origin]) => ({ __time: time, origin, none: null })),
    )
    assert.deepEqual((await request({ ...query, limit: 0 })).json, [])
    const named = (await request({ ...query, columns: ['__svc_file'], limit: 1 })).json as Batch[]
    assert.deepEqual(named[0]?.events, [{ __svc_file: null }])
  })

  test('reports missing permissions and invalid queries', async () => {
    const query = { queryType: 'timeBoundary', dataSource: 'secret' }
    assert.equal((await request(query, credentialsOf('reader'))).status, 403)
    assert.equal((await request({ ...query, dataSource }, credentialsOf('reader'))).status, 200)
    assert.equal((await request({ ...query, dataSource: 'nosuch' })).status, 404)
    const bad = [
      { ...query, queryType: 'groupBy' },
      { ...query, intervals: ['x'] },
      { ...query, filter: { type: 'javascript' } },
      { ...query, queryType: 'scan', limit: -1 },
      { ...query, queryType: 'scan', columns: ['origin', 'Origin'] },
      {},
    ]
    for (const json of bad) {
      const { status, text } = await request(json)
      assert.equal(status, 400, text)
    }
  })
})

describe('./svc sql', () => {
  const sql = (...args: string[]) => runSvc('sql', '--home', home.root, ...args)
  test('shows a table', async () => {
    const { status, stdout } = await sql(
      'SELECT origin, count(*) AS n FROM flights GROUP BY 1 ORDER BY 2 DESC LIMIT 2',
    )
    assert.equal(status, 0)
    assert.match(stdout, /^origin +n\n─+\nDFW +1103\nORD +1095\n\(2 rows, \d+\.\d s\)\n$/)
  })
  test('only a line feed ends a row', async () => {
    const { status, stdout, stderr } = await sql("SELECT 'a' || chr(8232) || 'b' AS t")
    assert.equal(status, 0, stderr)
    assert.match(stdout, /\(1 row,/)
  })
  test('prints JSON and CSV', async () => {
    const query = `SELECT origin, NULL AS "none", 'a,b' AS t FROM flights WHERE origin = 'DFW' LIMIT 1`
    assert.deepEqual(JSON.parse((await sql('--json', query)).stdout), [
      { origin: 'DFW', none: null, t: 'a,b' },
    ])
    assert.equal((await sql('--csv', query)).stdout, 'origin,none,t\nDFW,,"a,b"\n')
  })
  test('reports invalid queries', async () => {
    const refused = await sql('SELECT nope FROM flights')
    assert.equal(refused.status, 2)
    assert.match(refused.stderr, /^svc: Line \[1\], column \[8\]: /)
    assert.equal((await sql('--json', '--csv', 'SELECT 1')).status, 2)
    assert.match(
      (
        await sql(
          '--timeout',
          '1',
          'SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range = 7',
        )
      ).stderr,
      /timeout of \[1000\] ms/,
    )
  })
})

describe('unavailable segments', () => {
  test('queries work while deep storage is unavailable', async () => {
    renameSync(home.deepStorage, `${home.deepStorage}-aside`)
    try {
      assert.deepEqual(await sqlRows(router, totals), total)
    } finally {
      renameSync(`${home.deepStorage}-aside`, home.deepStorage)
    }
  })

  test('a killed historical does not change answers', async () => {
    const killed = cluster.kill('historical-1', 'SIGKILL')
    for (let round = 0; round < 5; round++) assert.deepEqual(await sqlRows(router, totals), total)
    await killed
    await cluster.waitUntilReady('historical-1')
    assert.deepEqual(await sqlRows(router, totals), total)
  })

  test('with one replica each, a query fails if it needs segments of a killed historical', async () => {
    await router.post(defaultRules, load(1))
    await waitUntil(
      'one replica is left',
      () => sqlRows(router, 'SELECT max(num_replicas), min(num_replicas) FROM sys.segments'),
      ([row]) => JSON.stringify(row) === '[1,1]',
    )
    // The broker drops what it has fetched.
    await cluster.kill('broker', 'SIGKILL')
    await cluster.waitUntilReady('broker')
    await cluster.stopInstance('historical-1')
    const querying = querySql(router, totals)
    cluster.startInstance('historical-1')
    const { status, json } = await querying
    if (status === 200) assert.deepEqual((json as Record<string, number>[]).map(Object.values), total)
    else assert.equal(status, 503)
    await cluster.waitUntilReady('historical-1')
    assert.deepEqual(await sqlRows(router, totals), total)
  })

  test('segments without replicas are reported, and read from deep storage on request', async () => {
    await router.post(`/svc/coordinator/v1/rules/${flights.dataSource}`, [
      {
        type: 'loadByInterval',
        interval: '2001-02-01/2001-03-01',
        tieredReplicants: {},
        useDefaultTierForNull: false,
      },
      { type: 'dropByInterval', interval: '2001-03-01/2001-04-01' },
      ...load(1),
    ])
    await waitUntil(
      'March is unused',
      async () => (await storedSegments(store, flights.dataSource)).filter(({ used }) => used).length,
      (used) => used === 59,
    )
    const january = await waitUntil(
      'only January is loaded',
      () => querySql(router, 'SELECT min(__time), max(__time) FROM flights', { resultFormat: 'array' }),
      ({ text }) => text.includes('2001-01-31T'),
    )
    assert.equal(
      january.headers['x-svc-response-context'],
      JSON.stringify({ segmentsNotLoaded: { flights: 28 } }),
    )
    const context = { fromDeepStorage: true }
    assert.deepEqual(await sqlRows(router, totals, { context }), total)
  })

  test('a datasource without loaded segments has the columns and types of its segments', async () => {
    const dataSource = 'fresh'
    await router.post(`/svc/coordinator/v1/rules/${dataSource}`, [
      { type: 'loadForever', tieredReplicants: {}, useDefaultTierForNull: false },
    ])
    await runTask(router, flightsTask({ dataSource, segmentGranularity: 'MONTH' }))
    const sql = `SELECT count(*), sum(distance), max(origin), max(__time) > now() FROM ${dataSource}`
    assert.deepEqual(await sqlRows(router, sql), [[0, null, null, null]])
  })
})
