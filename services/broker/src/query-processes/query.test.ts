import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import { createQueryProcesses, type QueryProcessesOptions, type QuerySession } from './query-processes.ts'
import { openTestQueries, ownerOf } from './test-queries.ts'

const queries = await openTestQueries()
const { query, folder, processes, writeParquet } = queries
await writeParquet(
  'a.parquet',
  `SELECT TIMESTAMP_MS '2026-01-01 00:00:00' AS __time, 'a' AS page, 1::BIGINT AS added, 7 AS extra
   UNION ALL SELECT TIMESTAMP_MS '2026-01-02 03:04:05.678', 'b "x", y', 2, NULL`,
)
await writeParquet(
  'b.parquet',
  `SELECT TIMESTAMP_MS '2025-12-31' AS __time, NULL AS page, 0.5::DOUBLE AS added`,
)
const files = ['a.parquet', 'b.parquet']
const secret = queries.file('secret.csv')

describe('a query must not', () => {
  const attacks: Readonly<Record<string, string>> = {
    'read a file': `SELECT * FROM read_csv('${secret}')`,
    'read a file by its name': `SELECT * FROM '${secret}'`,
    'read a file in a subquery': `SELECT (SELECT count(*) FROM read_text('${secret}'))`,
    'read a file in a WITH clause': `WITH x AS (SELECT * FROM read_blob('${secret}')) SELECT * FROM x`,
    'read a file in a lateral join': `SELECT * FROM wiki, LATERAL (SELECT * FROM read_csv('${secret}'))`,
    'read a Parquet file': `SELECT * FROM parquet_scan('${queries.file('a.parquet')}')`,
    'read Parquet metadata': `SELECT * FROM parquet_metadata('${queries.file('a.parquet')}')`,
    'read JSON': `SELECT * FROM read_json_auto('${secret}')`,
    'sniff a file': `SELECT * FROM sniff_csv('${secret}')`,
    'list a folder': `SELECT * FROM glob('${folder}/*')`,
    'read the environment': `SELECT getenv('HOME')`,
    'read the environment of the process': `SELECT * FROM read_text('/proc/self/environ')`,
    'read the network': `SELECT * FROM read_csv('http://127.0.0.1:1/x')`,
    'read from a bucket': `SELECT * FROM 's3://bucket/x.parquet'`,
    'write a file': `COPY (SELECT 1) TO '${folder}/out.csv'`,
    'write a file from a table': `COPY wiki TO '${folder}/out.parquet'`,
    'run a program': `COPY (SELECT 1) TO PROGRAM 'touch ${folder}/out'`,
    'export everything': `EXPORT DATABASE '${folder}/out'`,
    'import something': `IMPORT DATABASE '${folder}/out'`,
    'attach a database': `ATTACH '${folder}/out.db' AS other`,
    'detach the database': 'DETACH memory',
    'install an extension': 'INSTALL httpfs',
    'load an extension': 'LOAD httpfs',
    'see the extensions': 'SELECT * FROM duckdb_extensions()',
    'change a setting': `SET memory_limit = '100GB'`,
    'reset a setting': 'RESET memory_limit',
    'change a pragma': 'PRAGMA threads = 8',
    'call a pragma': 'CALL pragma_version()',
    'see the settings': 'SELECT * FROM duckdb_settings()',
    'see one setting': `SELECT current_setting('temp_directory')`,
    'see the secrets': 'SELECT * FROM duckdb_secrets()',
    'see the version': 'SELECT version()',
    'see the memory': 'SELECT * FROM duckdb_memory()',
    'see temporary files': 'SELECT * FROM duckdb_temporary_files()',
    'see view definitions': 'SELECT sql FROM duckdb_views()',
    'see the views of the database itself': 'SELECT * FROM duckdb_tables',
    'see the catalog of Postgres': 'SELECT * FROM pg_catalog.pg_class',
    'see another catalog': 'SELECT * FROM system.information_schema.tables',
    'see another schema': 'SELECT * FROM main.wiki',
    'show all tables': 'SHOW ALL TABLES',
    'describe a table': 'DESCRIBE wiki',
    'summarize a table': 'SUMMARIZE wiki',
    'explain a query': 'EXPLAIN ANALYZE SELECT 1',
    'create a table': 'CREATE TABLE t AS SELECT 1',
    'create a macro': `CREATE MACRO f() AS TABLE SELECT * FROM read_csv('${secret}')`,
    'create a secret': `CREATE SECRET (TYPE s3, KEY_ID 'x', SECRET 'y')`,
    'insert rows': `INSERT INTO wiki VALUES (now(), 'x', 1, 1)`,
    'delete rows': 'DELETE FROM wiki',
    'drop a table': 'DROP VIEW wiki',
    'run a string as a query': `SELECT * FROM query('SELECT 1')`,
    'use a string as a table name': `SELECT * FROM query_table('wiki')`,
    'run a serialized query': `SELECT * FROM json_execute_serialized_sql('{}')`,
    'serialize a plan': `SELECT json_serialize_plan('SELECT 1')`,
    'prepare a statement': 'PREPARE p AS SELECT 1',
    'execute a statement': 'EXECUTE p',
    'begin a transaction': 'BEGIN TRANSACTION',
    'run two statements': 'SELECT 1; SELECT 2',
    'hide a second statement': `SELECT 1; COPY (SELECT 1) TO '${folder}/out.csv'`,
    'set a variable': 'SET VARIABLE x = 1',
    'read a variable': `SELECT getvariable('x')`,
    sleep: 'SELECT pg_sleep(10)',
    'sleep in another way': 'SELECT sleep_ms(10000)',
    'write to the log': `SELECT write_log('x')`,
    'call a function with its schema': `SELECT pg_catalog.current_setting('threads')`,
    'be empty': ' ',
    'be only a comment': '-- nothing',
    'contain a NUL': `SELECT '\0'`,
  }
  for (const [name, sql] of Object.entries(attacks)) {
    it(name, async () => {
      const before = readdirSync(folder)
      await assert.rejects(query(sql, { files }), (error: { code?: string; message: string }) => {
        assert.equal(error.code, 'invalidInput', error.message)
        assert.ok(!error.message.includes('spill'), error.message)
        return true
      })
      assert.deepEqual(readdirSync(folder), before)
    })
  }

  // The second line of defense, in case validation has a gap.
  const reaching = Object.entries(attacks).filter(([name]) =>
    /^(read|write|sniff|list|run a program|export|attach|install|load|change)/.test(name),
  )
  for (const [name, sql] of reaching) {
    if (/Parquet metadata|a Parquet file|environment$|variable|log$/.test(name)) continue
    it(`${name}, even without validation`, async () => {
      const before = readdirSync(folder)
      const answered = await query(sql, { files, unread: true }).then(
        (answer) => answer,
        () => 'refused',
      )
      assert.equal(answered, 'refused')
      assert.deepEqual(readdirSync(folder), before)
    })
  }
})

describe('a query may', () => {
  const allowed: Readonly<Record<string, readonly [string, unknown]>> = {
    'read all segments as one table': ['SELECT count(*), sum(added) FROM wiki', [[3, 3.5]]],
    'name the schema': ['SELECT count(*) FROM svc.wiki', [[3]]],
    'name the schema in any case': ['SELECT count(*) FROM SVC.wiki AS w WHERE w.added > 0', [[3]]],
    'read columns that some segments do not have': [
      'SELECT page, extra FROM wiki ORDER BY added',
      [
        [null, null],
        ['a', 7],
        ['b "x", y', null],
      ],
    ],
    'name a WITH clause like a table': [
      'WITH wiki AS (SELECT 1 AS x), y AS (SELECT x + 1 AS z FROM wiki) SELECT z FROM y',
      [[2]],
    ],
    'read a table in a WITH clause of the same name': [
      'WITH wiki AS (SELECT count(*) AS n FROM svc.wiki) SELECT n FROM wiki',
      [[3]],
    ],
    'be recursive': [
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT sum(i) FROM n',
      [[10]],
    ],
    'use windows, lists, and lambdas': [
      'SELECT row_number() OVER (ORDER BY added), list_transform([1, 2], lambda x: x * 2) FROM wiki LIMIT 1',
      [[1, [2, 4]]],
    ],
    'use ranges': ['SELECT sum(range) FROM range(5)', [[10]]],
    'read no table': [`SELECT 1 + 1, 'é', DATE '2026-02-03'`, [[2, 'é', '2026-02-03T00:00:00.000Z']]],
    'keep all digits': ['SELECT 9223372036854775807 = 9223372036854775807, 2::HUGEINT', [[true, 2]]],
    'contain strings that are not valid numbers': [
      `SELECT '"value":Infinity', 'inf'::DOUBLE`,
      [['"value":Infinity', 'Infinity']],
    ],
    'contain comments': ['SELECT 1 -- one\n;', [[1]]],
  }
  for (const [name, [sql, expected]] of Object.entries(allowed)) {
    it(name, async () => assert.deepEqual(JSON.parse(await query(sql, { files })), expected))
  }

  it('take parameters', async () => {
    const parameters = [
      { type: 'VARCHAR', value: 'a' },
      { type: 'BIGINT', value: 1 },
      { type: 'TIMESTAMP', value: '2026-01-01T00:00:00' },
      { type: 'DOUBLE', value: 0.5 },
      { type: 'BOOLEAN', value: true },
      { type: 'DATE', value: '2026-01-01' },
      { type: 'VARCHAR', value: null },
    ]
    const sql =
      'SELECT count(*), ?, ? IS NULL FROM wiki WHERE page = ? AND added = ? AND __time = ? AND 0.5 = ?'
    const given = [4, 6, 0, 1, 2, 3].map((index) => parameters[index] as (typeof parameters)[number])
    assert.deepEqual(JSON.parse(await query(sql, { files, parameters: given })), [[1, true, true]])
    const day = { type: 'DATE', value: '2026-01-01' }
    assert.deepEqual(
      JSON.parse(await query('SELECT count(*) FROM wiki WHERE __time = ?', { files, parameters: [day] })),
      [[1]],
    )
    for (const [wrong, message] of [
      [[], /has \[1\] parameters, but \[parameters\] has \[0\] values/],
      [
        [{ type: 'BIGINT', value: 'x' }],
        /Invalid value \[x\] for \[parameters\[0\]\.value\]: expected an integer for type \[BIGINT\]/,
      ],
      [[{ type: 'TIMESTAMP', value: 'x' }], /ISO 8601/],
      // JSON parsing has already lost digits of this number.
      [
        [{ type: 'BIGINT', value: 2 ** 53 }],
        /^Invalid value \[9007199254740992\] .*: expected a number from \[-9007199254740991\] to/,
      ],
      [[{ type: 'VARCHAR', value: -(2 ** 53) }], /parameters\[0\]\.value\].* or a string/],
    ] as const) {
      await assert.rejects(query('SELECT ?', { parameters: wrong }), { code: 'invalidInput', message })
    }
  })

  it('take integers with all their digits', async () => {
    const parameters = [
      { type: 'BIGINT', value: '9007199254740993' },
      { type: 'BIGINT', value: 2 ** 53 - 1 },
      { type: 'BIGINT', value: '-9223372036854775808' },
      { type: 'VARCHAR', value: '9007199254740993' },
      { type: 'DOUBLE', value: 2 ** 53 },
    ]
    assert.equal(
      await query('SELECT ?, ?, ?, ?, ?', { parameters }),
      '[[9007199254740993,9007199254740991,-9223372036854775808,"9007199254740993",9007199254740992]]\n',
    )
  })

  it('name columns of a table without files', async () => {
    assert.equal(await query('SELECT __time, page FROM wiki'), '[]\n')
  })
})

describe('a table without rows has the same time type as one with rows', () => {
  const schemas = [[{ name: 'page', type: 'string' }]] as const
  const tables = { 'with known columns': { schemas }, 'without known columns': {} }
  const conditions = [
    `__time >= now() - INTERVAL '1' DAY`,
    '__time >= now()',
    'now() > __time',
    'now() - __time < INTERVAL 1 DAY',
    '__time BETWEEN now() - INTERVAL 1 HOUR AND now()',
    `__time = TIMESTAMPTZ '2020-01-01 00:00:00+00'`,
    '__time < to_timestamp(0)',
    '__time < current_date',
    `__time < TIMESTAMP '1970-01-01'`,
    `coalesce(__time, now()) < TIMESTAMP '1970-01-01'`,
  ]
  for (const [kind, table] of Object.entries(tables)) {
    for (const condition of conditions) {
      it(`in ${condition}, ${kind}`, async () => {
        const sql = `SELECT page FROM wiki WHERE ${condition}`
        assert.equal(await query(sql, table), '[]\n')
        assert.ok(await query(sql, { files }))
      })
    }
    it(`in aggregates, ${kind}`, async () => {
      const sql = 'SELECT count(*), max(__time), coalesce(max(__time), now()) > now() FROM wiki'
      assert.equal(await query(sql, table), '[[0,null,false]]\n')
    })
  }
})

describe('an invalid query', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['SELECT * FRM wiki', /^Line \[1\], column \[14\]: syntax error at or near "wiki"/],
    ['SELECT\n  page,\n  nope\nFROM wiki', /^Line \[3\], column \[3\]: .*nope/],
    [`SELECT 'ééé', nope FROM wiki`, /^Line \[1\], column \[15\]: /],
    ['SELECT 1 AS "a\u0001b"', /Invalid name \[a\\u0001b\]: expected a name without control characters$/],
    ['SELECT page FROM wiki AS "a\u0007"', /Invalid name \[a\\u0007\]/],
    ['SELECT "a\u007f".x FROM (SELECT 1) AS a (x)', /Invalid name \[a\\u007f\]/],
    ['SELECT * FROM (SELECT 1) AS a ("x\u0002")', /Invalid name \[x\\u0002\]/],
    ['WITH "w\u0003" AS (SELECT 1) SELECT * FROM wiki', /Invalid name \[w\\u0003\]/],
    ['SELECT nope(page) FROM wiki', /^Line \[1\], column \[8\]: Unsupported function \[nope\]/],
    ['SELECT upper(page, 1) FROM wiki', /^Line \[1\], column \[8\]: No function matches/],
    ['SELECT page::BIGINT FROM wiki', /^Line \[1\], column \[12\]: Could not convert string/],
    ['SELECT sum(page) FROM wiki', /^Line \[1\], column \[8\]: /],
    [`SELECT ${'('.repeat(50_000)}1`, /^Line \[1\], column \[\d+\]: memory exhausted/],
    [`SELECT ${'1+'.repeat(5000)}1`, /depth limit of 1000/],
    [
      `SELECT ${Array.from({ length: 1001 }, () => '(SELECT 1 FROM wiki)').join()}`,
      /^Line \[1\], column \[\d+\]: Too many tables in the query: expected at most \[1000\]$/,
    ],
    [`SELECT ${'x'.repeat(100_000)}(1)`, /^Line \[1\], column \[8\]: Unsupported function \[x{978}$/],
    [
      'SELECT 1e400',
      /^The query contains a number that is out of range: expected an absolute value of at most \[1\.79\d+e\+308\]$/,
    ],
    ['SELECT -1e400', /^The query contains a number that is out of range/],
    [`SELECT 1 LIMIT ${'9'.repeat(400)}`, /^The query contains a number that is out of range/],
  ]
  for (const [sql, message] of cases) {
    it(`is reported with line and column: ${sql.slice(0, 40)}`, async () => {
      await assert.rejects(query(sql, { files }), (error: Error & { code: string }) => {
        assert.match(error.message, message)
        assert.equal(error.code, 'invalidInput')
        assert.ok(!error.message.includes(folder))
        return true
      })
    })
  }
})

const formats = [
  ['object', '[{"t":"2026-01-02T03:04:05.678Z","page":"b \\"x\\", y","n":2,"none":null}]\n'],
  ['array', '[["2026-01-02T03:04:05.678Z","b \\"x\\", y",2,null]]\n'],
  ['objectLines', '{"t":"2026-01-02T03:04:05.678Z","page":"b \\"x\\", y","n":2,"none":null}\n\n'],
  ['arrayLines', '["2026-01-02T03:04:05.678Z","b \\"x\\", y",2,null]\n\n'],
  ['csv', '2026-01-02T03:04:05.678Z,"b ""x"", y",2,\n\n'],
] as const
const headers = [
  ['object', '[{"t":{"type":"LONG","sqlType":"TIMESTAMP"},"n":{"type":"DOUBLE","sqlType":"DOUBLE"}}]\n'],
  ['array', '[["t","n"],["LONG","DOUBLE"],["TIMESTAMP","DOUBLE"]]\n'],
  ['objectLines', '{"t":{"type":"LONG","sqlType":"TIMESTAMP"},"n":{"type":"DOUBLE","sqlType":"DOUBLE"}}\n\n'],
  ['arrayLines', '["t","n"]\n["LONG","DOUBLE"]\n["TIMESTAMP","DOUBLE"]\n\n'],
  ['csv', 't,n\nLONG,DOUBLE\nTIMESTAMP,DOUBLE\n\n'],
] as const
describe('the schema of the datasources', () => {
  const schema = 'druid'
  it('can be written in any case and with or without quotes', async () => {
    for (const name of ['druid.wiki', '"druid"."wiki"', 'DRUID.wiki', 'wiki', 'sys.wiki']) {
      const answer = query(`SELECT count(*) FROM ${name}`, { files, schema })
      if (name === 'sys.wiki') await assert.rejects(answer, { code: 'invalidInput' })
      else assert.equal(await answer, '[[3]]\n')
    }
    assert.equal(await query('SELECT druid.wiki.page FROM druid.wiki LIMIT 0', { files, schema }), '[]\n')
  })
  it('has only one name', async () => {
    await assert.rejects(query('SELECT * FROM svc.wiki', { files, schema }), /\[svc\.wiki\] does not exist/)
    await assert.rejects(query('SELECT * FROM druid.wiki', { files }), /\[druid\.wiki\] does not exist/)
  })
})

describe('the result format', () => {
  for (const [format, expected] of formats) {
    it(format, async () => {
      const sql = `SELECT __time AS t, page, added::BIGINT AS n, NULL AS none FROM wiki WHERE page LIKE 'b%'`
      assert.equal(await query(sql, { files, style: { format } }), expected)
    })
  }
  for (const [format, expected] of headers) {
    it(`${format} with a header and no rows`, async () => {
      const style = { format, header: true, typesHeader: true, sqlTypesHeader: true }
      const sql = 'SELECT __time AS t, added AS n FROM wiki WHERE false'
      assert.equal(await query(sql, { files, style }), expected)
    })
  }
  it('object with a header of only names', async () => {
    assert.equal(
      await query('SELECT 1 AS a', { style: { format: 'object', header: true } }),
      '[{"a":null},{"a":1}]\n',
    )
  })
  it('array with values of every type', async () => {
    const sql = `SELECT 1/0, -1/0, 0.1::FLOAT, 1.50::DECIMAL(9,2), 170141183460469231731687303715884105727::HUGEINT,
      [TIMESTAMP '1969-12-31 23:59:59.9995'], {'a': [1], 'b': NULL}, MAP {'k': 2}, true, INTERVAL 1 DAY, 'x'::BLOB,
      TIME '01:02:03', '{"a":1}'::JSON`
    assert.equal(
      await query(sql),
      '[["Infinity","-Infinity",0.1,1.50,170141183460469231731687303715884105727,["1969-12-31T23:59:59.999Z"],{"a":[1],"b":null},{"k":2},true,"1 day","eA==","01:02:03","{\\"a\\":1}"]]\n',
    )
  })
})

it('fails only the query whose result cannot be sent', async () => {
  const onBegin = (): never => {
    throw new Error('no head')
  }
  await assert.rejects(query('SELECT * FROM range(1000000)', { onBegin }), /no head/)
  assert.equal(await query('SELECT 1'), '[[1]]\n')
})

describe('a canceled query', () => {
  const endless = 'SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range = 7'
  const processIds = () => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim()

  it('leaves its process to the next query, whether it was canceled early or late', async () => {
    assert.equal(await query('SELECT 1'), '[[1]]\n')
    const before = processIds()
    for (const afterMs of [0, 5, 20, 60, 100]) {
      await assert.rejects(query(endless, { signal: AbortSignal.timeout(afterMs) }), { name: 'TimeoutError' })
      assert.equal(await query('SELECT 1'), '[[1]]\n')
    }
    assert.equal(processIds(), before)
  })
  it('leaves no part of its result to the next query', async () => {
    const before = processIds()
    const caller = new AbortController()
    const onBegin = () => void setImmediate(() => caller.abort(new Error('left')))
    const { signal } = caller
    await assert.rejects(query('SELECT * FROM range(900000)', { signal, onBegin }), /left/)
    assert.equal(await query('SELECT 1'), '[[1]]\n')
    assert.equal(processIds(), before)
  })
})

describe('queries have a limit', () => {
  it('of time: an endless cross join is canceled, and the next query succeeds', async () => {
    const signal = AbortSignal.timeout(500)
    await assert.rejects(
      query('SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range = 7', {
        signal,
      }),
      { name: 'TimeoutError' },
    )
    assert.equal(await query('SELECT 1'), '[[1]]\n')
  })
  it('of memory', async () => {
    await assert.rejects(
      query(`SELECT len(list(r || ' and so on and on and on')) FROM range(100000000) t(r)`),
      {
        code: 'tooLarge',
        message: /svc\.query\.memoryLimit/,
      },
    )
  })
  for (const [name, sql] of [
    ['values', `SELECT 1 WHERE 1 IN (${Array.from({ length: 40_000 }, (_, index) => index)})`],
    ['clauses', Array.from({ length: 20_000 }, () => 'SELECT 1').join(' UNION ALL ')],
  ] as const) {
    it(`of memory for parsing: too many ${name}`, async () => {
      await assert.rejects(query(sql), {
        code: 'tooLarge',
        message:
          'The query is too complex: parsing it needs more than [67108864] bytes of memory. Use fewer values or clauses.',
      })
      assert.equal(await query('SELECT 1'), '[[1]]\n')
    })
  }
  it('of memory that DuckDB does not count', async () => {
    await assert.rejects(query(`SELECT len(repeat('x', 4000000000)) FROM range(5)`), {
      code: 'tooLarge',
      message: /svc\.query\.memoryLimit/,
    })
    assert.equal(await query('SELECT 1'), '[[1]]\n')
  })
  it('of rows', async () => {
    await assert.rejects(query('SELECT * FROM range(2000000)', { style: { format: 'csv' } }), {
      code: 'tooLarge',
      message: /svc\.query\.maxRows/,
    })
    assert.equal(await query('SELECT 1'), '[[1]]\n')
  })
  it('of rows set by the caller, after which the result is cut off', async () => {
    const outerLimit = 2500
    const rows = JSON.parse(await query('SELECT * FROM range(2000000)', { outerLimit })) as unknown[]
    assert.equal(rows.length, outerLimit)
    assert.equal(await query('SELECT 1', { outerLimit: 0 }), '[]\n')
    assert.equal(await query('SELECT 1', { outerLimit }), '[[1]]\n')
  })
  it('of running queries: others wait in a queue and are rejected if it is full', async () => {
    const acquire = (caller: string, signal = AbortSignal.timeout(60_000)) =>
      processes.acquire(ownerOf(caller), signal)
    const held = [await acquire('ann'), await acquire('bob')]
    const leaving = new AbortController()
    const left = acquire('ann', leaving.signal)
    await assert.rejects(acquire('bob'), { code: 'busy' })
    leaving.abort(new Error('left'))
    await assert.rejects(left, /left/)
    const waits = query('SELECT 2')
    held[0]?.release()
    assert.equal(await waits, '[[2]]\n')
    held[1]?.release()
    assert.equal(processes.count('running'), 0)
  })
  it('of time for waiting until they are idle', async () => {
    await processes.untilIdle(60_000)
    const held = await processes.acquire(ownerOf('ann'), AbortSignal.timeout(60_000))
    await processes.untilIdle(10)
    assert.equal(processes.count('running'), 1)
    const idle = processes.untilIdle(60_000)
    held.release()
    await idle
    assert.equal(processes.count('running'), 0)
  })
})

describe('queries of several callers', () => {
  const memoryLimitBytes = 128 * 2 ** 20
  const open = (scope: TestContext, changed: Partial<QueryProcessesOptions> = {}) => {
    const rejected: string[] = []
    const limited = createQueryProcesses({
      maxRunning: 3,
      maxQueued: 3,
      maxQueuedPerCaller: 2,
      memoryLimitBytes,
      maxRunMsPerCaller: 600_000,
      spillDirectory: path.join(folder, 'spill'),
      onReject: (reason) => rejected.push(reason),
      ...changed,
    })
    scope.after(limited.stop)
    return {
      limited,
      rejected,
      acquire: (caller: string, maxRunMs?: number) =>
        limited.acquire({ ...ownerOf(caller), maxRunMs }, AbortSignal.timeout(60_000)),
      state: () => [limited.count('running'), limited.count('suspended'), limited.count('waiting')],
      untilLong: (count: number) =>
        waitUntil(
          `${count} queries are long`,
          () => limited.count('running', 'long') + limited.count('suspended', 'long'),
          (long) => long === count,
        ),
    }
  }
  const reads = { sql: 'SELECT 1', parameters: [], schema: 'svc' }

  it('leave a process and a place in the queue to other callers', async (scope) => {
    const { acquire, state, rejected } = open(scope)
    const held = [await acquire('ann'), await acquire('ann')]
    const waits = [acquire('ann'), acquire('ann')]
    assert.deepEqual(state(), [2, 0, 2])
    await assert.rejects(acquire('ann'), {
      code: 'busy',
      message:
        'Too many of your queries are waiting (the limit set by [svc.query.maxQueuedPerCaller] is [2]); try again later',
    })
    const other = await acquire('bob')
    const waitsToo = acquire('bob')
    assert.deepEqual(state(), [3, 0, 3])
    const displacing = acquire('cid')
    // The newest query of the caller with the most waiting queries loses its place.
    await assert.rejects(waits.pop() as Promise<unknown>, {
      code: 'busy',
      message:
        'Too many queries are waiting (the limit set by [svc.query.maxQueued] is [3]), and no other caller has more waiting queries than you; try again later',
    })
    assert.deepEqual(rejected, ['caller', 'all'])
    other.release()
    ;(await waitsToo).release()
    ;(await displacing).release()
    for (const one of held) one.release()
    for (const one of waits) (await one).release()
    assert.deepEqual(state(), [0, 0, 0])
  })

  it('get a process if long queries use all of them; these continue later', async (scope) => {
    const { acquire, state, untilLong } = open(scope, { maxRunning: 2 })
    const long = [await acquire('ann'), await acquire('bob')]
    await untilLong(2)
    assert.deepEqual(state(), [2, 0, 0])
    const short = await acquire('cid')
    assert.deepEqual(state(), [2, 1, 0])
    assert.deepEqual((await short.read(reads)).tables, [])
    short.release()
    assert.deepEqual(state(), [2, 0, 0])
    for (const one of long) assert.deepEqual((await one.read(reads)).tables, [])
    for (const one of long) one.release()
  })

  it('can end while they are suspended, and their processes serve others', async (scope) => {
    const { acquire, state, untilLong } = open(scope, { maxRunning: 2 })
    const long = [await acquire('ann'), await acquire('bob')]
    await untilLong(2)
    const short = await acquire('cid')
    for (const one of long) one.release()
    assert.deepEqual(state(), [1, 0, 0])
    const next = await acquire('ann')
    for (const one of [short, next]) {
      assert.deepEqual((await one.read(reads)).tables, [])
      one.release()
    }
  })

  it('are rejected if they are long and no more can be suspended', async (scope) => {
    const { acquire, untilLong, rejected } = open(scope, { maxRunning: 2 })
    const sessions: QuerySession[] = []
    for (const caller of ['ann', 'bob', 'cid', 'dan']) {
      sessions.push(await acquire(caller))
      await untilLong(sessions.length)
    }
    sessions.push(await acquire('eve'))
    const ended = sessions.filter(({ signal }) => signal.aborted)
    assert.deepEqual(
      ended.map(({ signal }) => signal.reason.message),
      [
        'The query is long-running, and too many long-running queries [2] are already waiting for their turn; try again later',
      ],
    )
    assert.deepEqual(rejected, ['long'])
    await assert.rejects((ended[0] as QuerySession).read(reads), { code: 'busy' })
    for (const one of sessions) one.release()
  })

  it('have a limit of total time per caller', async (scope) => {
    const { acquire } = open(scope, { maxRunMsPerCaller: 3000 })
    // Two queries use up the time twice as fast as one, with a second and a half between them.
    const [first, second, other] = [await acquire('ann'), await acquire('ann'), await acquire('bob')]
    const isOver = ({ signal }: QuerySession) => signal.aborted
    await waitUntil('one query has ended', () => [first, second].filter(isOver).length === 1)
    assert.ok(!isOver(other))
    const over = [first, second].find(isOver) as QuerySession
    await assert.rejects(over.read(reads), {
      code: 'timedOut',
      message:
        'Your running queries have taken longer than [3000] ms in total, the limit set by [svc.query.maxTimePerCaller]',
    })
    for (const one of [first, second, other]) one.release()
  })

  it('end if parsing takes long', async (scope) => {
    const { acquire, state } = open(scope, { maxParseCpuMs: 200 })
    const session = await acquire('ann')
    const slow = { ...reads, sql: `SELECT ${'+'.repeat(10_000)}1` }
    await assert.rejects(session.read(slow), {
      code: 'tooLarge',
      message: /^Parsing the query takes more than \[200\] ms of CPU time: /,
    })
    session.release()
    assert.deepEqual(state(), [0, 0, 0])
    const next = await acquire('ann')
    await next.read(reads)
    next.release()
  })

  it('can have individual time limits', async (scope) => {
    const { acquire } = open(scope)
    const session = await acquire('ann', 100)
    await waitUntil('the query has ended', () => session.signal.aborted)
    await assert.rejects(session.read(reads), {
      code: 'timedOut',
      message:
        'The query took longer than [100] ms, the limit for callers without read access to any datasource',
    })
    session.release()
  })

  it('have a limit of total memory per caller', async (scope) => {
    const { acquire, state } = open(scope, { memoryLimitPerCallerBytes: memoryLimitBytes * 1.9 })
    const first = await acquire('ann')
    const second = acquire('ann')
    assert.deepEqual(state(), [1, 0, 1])
    first.release()
    ;(await second).release()
  })
})
