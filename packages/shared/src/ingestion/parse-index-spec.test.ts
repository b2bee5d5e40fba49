import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { Failure } from '@svc/domain/failure'
import { maxInlineDataBytes } from '@svc/domain/ingestion'
import type { InputAccess } from './input-access.ts'
import { parseIndexSpec } from './parse-index-spec.ts'

const folder = mkdtempSync(join(tmpdir(), 'index-spec-'))
after(() => rmSync(folder, { recursive: true }))
const root = join(folder, 'root')
mkdirSync(root)
symlinkSync(root, join(folder, 'link-to-root'))

const access: InputAccess = {
  allowedRoots: [root],
  allowedHosts: ['data.example.com', 'other.example.com:8443'],
}

type Json = Record<string, unknown>

/**
 * Returns a complete task as clients of Druid send it, with changed values at the given paths; undefined removes a
 * field.
 */
function taskWith(changes: Json = {}): Json {
  const task = {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource: 'koalas',
        timestampSpec: { column: 'timestamp', format: 'iso' },
        dimensionsSpec: { dimensions: ['channel', { type: 'long', name: 'age' }] },
        metricsSpec: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
        granularitySpec: { segmentGranularity: 'DAY', queryGranularity: 'NONE', rollup: false },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: { type: 'inline', data: '{"timestamp":"2026-10-01"}' },
        inputFormat: { type: 'json' },
        appendToExisting: true,
      },
      tuningConfig: { type: 'index_parallel', partitionsSpec: { type: 'dynamic' } },
    },
  }
  for (const [path, value] of Object.entries(changes)) {
    const parts = path.split('.')
    const last = parts.pop() as string
    const parent = parts.reduce<Json>((at, part) => at[part] as Json, task)
    if (value === undefined) delete parent[last]
    else parent[last] = value
  }
  return task
}

const schema = 'spec.dataSchema'
const io = 'spec.ioConfig'
const tuning = 'spec.tuningConfig'
const csv = (format: Json) => ({
  [`${io}.inputFormat`]: { type: 'csv', ...format },
})
const local = (source: Json) => ({ [`${io}.inputSource`]: { type: 'local', ...source } })
const http = (...uris: unknown[]) => ({ [`${io}.inputSource`]: { type: 'http', uris } })
const aggregator = (metric: unknown) => ({ [`${schema}.metricsSpec`]: [metric] })
const named = (...dimensions: unknown[]) => ({ [`${schema}.dimensionsSpec`]: { dimensions } })
const granularities =
  'NONE, SECOND, MINUTE, FIVE_MINUTE, TEN_MINUTE, FIFTEEN_MINUTE, THIRTY_MINUTE, HOUR, SIX_HOUR, EIGHT_HOUR, DAY, WEEK, MONTH, QUARTER, YEAR, ALL'

describe('an invalid task', () => {
  const cases: { name: string; given: unknown; expect: string }[] = [
    { name: 'a string', given: 'x', expect: 'Invalid value [x] for [body]: expected an object' },
    { name: 'null', given: null, expect: 'Invalid value [null] for [body]: expected an object' },
    {
      name: 'an empty object',
      given: {},
      expect:
        'Missing value for [type]: expected one of [index_parallel]; Missing value for [spec]: expected an object',
    },
    {
      name: 'another type',
      given: taskWith({ type: 'index_hadoop' }),
      expect: 'Invalid value [index_hadoop] for [type]: expected one of [index_parallel]',
    },
    {
      name: 'an unknown top-level field',
      given: taskWith({ resource: {} }),
      expect: 'Unknown field [resource] with value [{}]: expected one of [type, id, groupId, context, spec]',
    },
    {
      name: 'an unknown nested field',
      given: taskWith({ [`${io}.inputSource.filtr`]: 'x' }),
      expect: 'Unknown field [spec.ioConfig.inputSource.filtr] with value [x]: expected one of [type, data]',
    },
    {
      name: 'a field named __proto__',
      given: JSON.parse(JSON.stringify(taskWith()).replace('"type"', '"__proto__":{"a":1},"type"')),
      expect:
        'Unknown field [__proto__] with value [{"a":1}]: expected one of [type, id, groupId, context, spec]',
    },
    {
      name: 'an empty id',
      given: taskWith({ id: '' }),
      expect: 'Invalid value [] for [id]: expected a non-empty string',
    },
    {
      name: 'an id with a line break',
      given: taskWith({ id: 'a\nb' }),
      expect:
        'Invalid value [a\\u000ab] for [id]: expected an ID without control characters or leading or trailing whitespace',
    },
    {
      name: 'a context that is a list',
      given: taskWith({ context: [1] }),
      expect: 'Invalid value [[1]] for [context]: expected an object',
    },
    {
      name: 'no spec',
      given: taskWith({ spec: undefined }),
      expect: 'Missing value for [spec]: expected an object',
    },
    {
      name: 'a datasource with a slash',
      given: taskWith({ [`${schema}.dataSource`]: '../etc' }),
      expect:
        'Invalid value [../etc] for [spec.dataSchema.dataSource]: expected a non-blank name of 1 to 255 characters that does not start with [.] and does not contain [/], control characters, or special characters such as emoji',
    },
    {
      name: 'no timestampSpec',
      given: taskWith({ [`${schema}.timestampSpec`]: undefined }),
      expect: 'Missing value for [spec.dataSchema.timestampSpec]: expected an object',
    },
    {
      name: 'a timestamp pattern with an unknown letter',
      given: taskWith({ [`${schema}.timestampSpec.format`]: 'yyyy-ww' }),
      expect:
        'Invalid value [yyyy-ww] for [spec.dataSchema.timestampSpec.format]: expected one of [auto, iso, millis, posix, micro, nano] or a pattern such as [yyyy-MM-dd HH:mm:ss] (this pattern has the unsupported letter [w])',
    },
    {
      name: 'a timestamp pattern without a year',
      given: taskWith({ [`${schema}.timestampSpec.format`]: 'HH:mm' }),
      expect:
        'Invalid value [HH:mm] for [spec.dataSchema.timestampSpec.format]: expected one of [auto, iso, millis, posix, micro, nano] or a pattern such as [yyyy-MM-dd HH:mm:ss] (this pattern has no year)',
    },
    {
      name: 'a missingValue that is not a timestamp',
      given: taskWith({ [`${schema}.timestampSpec.missingValue`]: 'soon' }),
      expect:
        'Invalid value [soon] for [spec.dataSchema.timestampSpec.missingValue]: expected an ISO 8601 date or date-time',
    },
    {
      name: 'a dimension that is a number',
      given: taskWith(named('a', 5)),
      expect:
        'Invalid value [5] for [spec.dataSchema.dimensionsSpec.dimensions[1]]: expected a name or an object',
    },
    {
      name: 'an empty dimension',
      given: taskWith(named('')),
      expect:
        'Invalid value [] for [spec.dataSchema.dimensionsSpec.dimensions[0].name]: expected a non-empty string',
    },
    {
      name: 'a dimension named __time',
      given: taskWith(named('__time')),
      expect:
        'Invalid value [__time] for [spec.dataSchema.dimensionsSpec.dimensions[0].name]: expected a name other than [__time], which is the timestamp column',
    },
    {
      name: 'a dimension of an unknown type',
      given: taskWith(named({ type: 'json', name: 'a' })),
      expect:
        'Invalid value [json] for [spec.dataSchema.dimensionsSpec.dimensions[0].type]: expected one of [string, long, float, double]',
    },
    {
      name: 'a duplicate dimension',
      given: taskWith(named('a', 'b', 'A')),
      expect:
        'Invalid value [A] for [spec.dataSchema.dimensionsSpec.dimensions[2]]: expected a name other than the one in [spec.dataSchema.dimensionsSpec.dimensions[0]] (names are case-insensitive)',
    },
    {
      name: 'a metric named like a dimension',
      given: taskWith(aggregator({ type: 'count', name: 'channel' })),
      expect:
        'Invalid value [channel] for [spec.dataSchema.metricsSpec[0].name]: expected a name other than the one in [spec.dataSchema.dimensionsSpec.dimensions[0]] (names are case-insensitive)',
    },
    {
      name: 'a metric of an unknown type',
      given: taskWith(aggregator({ type: 'thetaSketch', name: 'a', fieldName: 'a' })),
      expect:
        'Invalid value [thetaSketch] for [spec.dataSchema.metricsSpec[0].type]: expected one of [count, longSum, doubleSum, floatSum, longMin, longMax, doubleMin, doubleMax, floatMin, floatMax]',
    },
    {
      name: 'a sum without a column',
      given: taskWith(aggregator({ type: 'longSum', name: 'a' })),
      expect: 'Missing value for [spec.dataSchema.metricsSpec[0].fieldName]: expected a column name',
    },
    {
      name: 'metrics that are an object',
      given: taskWith({ [`${schema}.metricsSpec`]: {} }),
      expect: 'Invalid value [{}] for [spec.dataSchema.metricsSpec]: expected a list',
    },
    {
      name: 'an unknown granularity',
      given: taskWith({ [`${schema}.granularitySpec.segmentGranularity`]: 'FORTNIGHT' }),
      expect: `Invalid value [FORTNIGHT] for [spec.dataSchema.granularitySpec.segmentGranularity]: expected one of [${granularities}]`,
    },
    {
      name: 'the segment granularity NONE',
      given: taskWith({ [`${schema}.granularitySpec.segmentGranularity`]: 'NONE' }),
      expect: `Invalid value [NONE] for [spec.dataSchema.granularitySpec.segmentGranularity]: expected one of [${granularities.slice(6)}]`,
    },
    {
      name: 'the granularity ALL for both segments and queries',
      given: taskWith({
        [`${schema}.granularitySpec`]: { segmentGranularity: 'ALL', queryGranularity: 'all' },
      }),
      expect:
        'Invalid value [all] for [spec.dataSchema.granularitySpec.queryGranularity]: expected a granularity other than [ALL] when [segmentGranularity] is [ALL]',
    },
    {
      name: 'a granularitySpec of another type',
      given: taskWith({ [`${schema}.granularitySpec.type`]: 'arbitrary' }),
      expect:
        'Invalid value [arbitrary] for [spec.dataSchema.granularitySpec.type]: expected one of [uniform]',
    },
    {
      name: 'an interval that ends before it starts',
      given: taskWith({ [`${schema}.granularitySpec.intervals`]: ['2026-02-01/2026-01-01'] }),
      expect:
        'Invalid value [2026-02-01/2026-01-01] for [spec.dataSchema.granularitySpec.intervals[0]]: expected an ISO 8601 interval such as [2026-01-01/2026-02-01]',
    },
    {
      name: 'intervals that are a string',
      given: taskWith({ [`${schema}.granularitySpec.intervals`]: '2026-01-01/2026-02-01' }),
      expect:
        'Invalid value [2026-01-01/2026-02-01] for [spec.dataSchema.granularitySpec.intervals]: expected a list',
    },
    {
      name: 'a rollup that is a string',
      given: taskWith({ [`${schema}.granularitySpec.rollup`]: 'yes' }),
      expect: 'Invalid value [yes] for [spec.dataSchema.granularitySpec.rollup]: expected true or false',
    },
    {
      name: 'a transformSpec',
      given: taskWith({ [`${schema}.transformSpec`]: { filter: null } }),
      expect:
        'Invalid value [{"filter":null}] for [spec.dataSchema.transformSpec]: expected null (transforms are not supported)',
    },
    {
      name: 'an unknown input source',
      given: taskWith({ [`${io}.inputSource`]: { type: 's3', uris: [] } }),
      expect:
        'Invalid value [s3] for [spec.ioConfig.inputSource.type]: expected one of [inline, local, http]',
    },
    {
      name: 'an input source without a type',
      given: taskWith({ [`${io}.inputSource`]: { data: 'x' } }),
      expect: 'Missing value for [spec.ioConfig.inputSource.type]: expected one of [inline, local, http]',
    },
    {
      name: 'an input source that is a string',
      given: taskWith({ [`${io}.inputSource`]: 'inline' }),
      expect: 'Invalid value [inline] for [spec.ioConfig.inputSource]: expected an object',
    },
    {
      name: 'inline data that is an object',
      given: taskWith({ [`${io}.inputSource.data`]: {} }),
      expect: 'Invalid value [{}] for [spec.ioConfig.inputSource.data]: expected a string',
    },
    {
      name: 'inline Parquet',
      given: taskWith({ [`${io}.inputFormat`]: { type: 'parquet' } }),
      expect:
        'Invalid value [parquet] for [spec.ioConfig.inputFormat.type]: expected one of [json, csv, tsv] for inline data',
    },
    {
      name: 'an unknown input format',
      given: taskWith({ [`${io}.inputFormat`]: { type: 'orc' } }),
      expect:
        'Invalid value [orc] for [spec.ioConfig.inputFormat.type]: expected one of [json, csv, tsv, parquet]',
    },
    {
      name: 'CSV without columns',
      given: taskWith(csv({})),
      expect:
        'Missing value for [spec.ioConfig.inputFormat.columns]: expected a list of names unless [findColumnsFromHeader] is [true]',
    },
    {
      name: 'duplicate CSV columns',
      given: taskWith(csv({ columns: ['a', 'b', 'a'] })),
      expect:
        'Invalid value [["a","b","a"]] for [spec.ioConfig.inputFormat.columns]: expected a list without duplicates',
    },
    {
      name: 'a delimiter of two characters',
      given: taskWith(csv({ columns: ['a'], delimiter: '::' })),
      expect:
        'Invalid value [::] for [spec.ioConfig.inputFormat.delimiter]: expected a single character other than a double quote or a line break',
    },
    {
      name: 'a negative number of header lines',
      given: taskWith(csv({ columns: ['a'], skipHeaderRows: -1 })),
      expect:
        'Invalid value [-1] for [spec.ioConfig.inputFormat.skipHeaderRows]: expected an integer of at least 0',
    },
    {
      name: 'a local source without a folder and files',
      given: taskWith(local({})),
      expect:
        'Missing value for [spec.ioConfig.inputSource.baseDir]: expected a folder unless [files] is given',
    },
    {
      name: 'a folder without a filter',
      given: taskWith(local({ baseDir: root })),
      expect:
        'Missing value for [spec.ioConfig.inputSource.filter]: expected a pattern such as [*.csv] together with [baseDir]',
    },
    {
      name: 'a folder outside the allowed folders',
      given: taskWith(local({ baseDir: '/etc', filter: '*' })),
      expect: `Invalid value [/etc] for [spec.ioConfig.inputSource.baseDir]: expected an absolute path below one of [${root}]`,
    },
    {
      name: 'a folder whose name starts with the name of an allowed one',
      given: taskWith(local({ baseDir: `${root}-other`, filter: '*' })),
      expect: `Invalid value [${root}-other] for [spec.ioConfig.inputSource.baseDir]: expected an absolute path below one of [${root}]`,
    },
    {
      name: 'a path with .. that leaves the allowed folder',
      given: taskWith(local({ files: [`${root}/a.csv`, `${root}/../b.csv`] })),
      expect: `Invalid value [${root}/../b.csv] for [spec.ioConfig.inputSource.files[1]]: expected an absolute path below one of [${root}]`,
    },
    {
      name: 'a relative folder',
      given: taskWith(local({ baseDir: 'data', filter: '*' })),
      expect: `Invalid value [data] for [spec.ioConfig.inputSource.baseDir]: expected an absolute path below one of [${root}]`,
    },
    {
      name: 'no URI',
      given: taskWith(http()),
      expect:
        'Invalid value [[]] for [spec.ioConfig.inputSource.uris]: expected a list with at least one URI',
    },
    ...[
      ['another host', 'https://evil.example.com/x'],
      ['another port', 'https://data.example.com:444/x'],
      ['a missing port', 'https://other.example.com/x'],
      ['another scheme', 'ftp://data.example.com/x'],
      ['a file URI', 'file:///etc/passwd'],
      ['an invalid URI', 'data.example.com/x'],
      [
        'an allowed host as credentials',
        'https://data.example.com@evil.example.com/x',
        'https://***@evil.example.com/x',
      ],
      ['credentials', 'https://user:secret@data.example.com/x', 'https://***@data.example.com/x'],
    ].map(([name, uri, shown]) => ({
      name: `over HTTP: ${name}`,
      given: taskWith(http(uri)),
      expect: `Invalid value [${shown ?? uri}] for [spec.ioConfig.inputSource.uris[0]]: expected a URI such as [https://host/file] without credentials, whose host and port are one of [data.example.com, other.example.com:8443], where a host without a port means port 80 (http) or 443 (https)`,
    })),
    {
      name: 'both appendToExisting and dropExisting',
      given: taskWith({ [`${io}.dropExisting`]: true }),
      expect:
        'Invalid value [true] for [spec.ioConfig.dropExisting]: expected [false] when [appendToExisting] is [true]',
    },
    {
      name: 'dropExisting without intervals',
      given: taskWith({ [`${io}.dropExisting`]: true, [`${io}.appendToExisting`]: false }),
      expect:
        'Missing value for [spec.dataSchema.granularitySpec.intervals]: expected at least one interval when [dropExisting] is [true]',
    },
    {
      name: 'an ioConfig of another type',
      given: taskWith({ [`${io}.type`]: 'kafka' }),
      expect: 'Invalid value [kafka] for [spec.ioConfig.type]: expected one of [index_parallel]',
    },
    {
      name: 'hashed partitions',
      given: taskWith({ [`${tuning}.partitionsSpec`]: { type: 'hashed' } }),
      expect: 'Invalid value [hashed] for [spec.tuningConfig.partitionsSpec.type]: expected one of [dynamic]',
    },
    {
      name: 'a max of 0 rows per segment',
      given: taskWith({ [`${tuning}.partitionsSpec`]: { type: 'dynamic', maxRowsPerSegment: 0 } }),
      expect:
        'Invalid value [0] for [spec.tuningConfig.partitionsSpec.maxRowsPerSegment]: expected an integer of at least 1',
    },
    {
      name: 'maxRowsPerSegment in two places',
      given: taskWith({ [`${tuning}.maxRowsPerSegment`]: 10 }),
      expect:
        'Invalid value [10] for [spec.tuningConfig.maxRowsPerSegment]: expected no value when [partitionsSpec] is given',
    },
    {
      name: 'perfect rollup',
      given: taskWith({ [`${tuning}.forceGuaranteedRollup`]: true }),
      expect:
        'Invalid value [true] for [spec.tuningConfig.forceGuaranteedRollup]: expected [false] (only dynamic partitions are supported)',
    },
    {
      name: 'a fractional maxParseExceptions',
      given: taskWith({ [`${tuning}.maxParseExceptions`]: 0.5 }),
      expect: 'Invalid value [0.5] for [spec.tuningConfig.maxParseExceptions]: expected an integer',
    },
    {
      name: 'a tuning field with a value that compaction also refuses',
      given: taskWith({ [`${tuning}.maxColumnsToMerge`]: -2 }),
      expect:
        'Invalid value [-2] for [spec.tuningConfig.maxColumnsToMerge]: expected an integer from -1 to 2147483647',
    },
    {
      name: 'an unknown tuning field',
      given: taskWith({ [`${tuning}.maxRowPerSegment`]: 5 }),
      expect:
        'Unknown field [spec.tuningConfig.maxRowPerSegment] with value [5]: expected one of [type, partitionsSpec, maxRowsPerSegment, maxTotalRows, maxParseExceptions, logParseExceptions, maxSavedParseExceptions, reportParseExceptions, forceGuaranteedRollup, maxRowsInMemory, appendableIndexSpec, maxBytesInMemory, splitHintSpec, indexSpec, indexSpecForIntermediatePersists, maxPendingPersists, pushTimeout, segmentWriteOutMediumFactory, maxNumConcurrentSubTasks, maxRetry, taskStatusCheckPeriodMs, chatHandlerTimeout, chatHandlerNumRetries, maxNumSegmentsToMerge, totalNumMergeTasks, maxColumnsToMerge]',
    },
    {
      name: 'more problems than a message shows',
      given: taskWith({ [`${schema}.metricsSpec`]: [1, 2, 3, 4, 5, 6, 7] }),
      expect: `${[0, 1, 2, 3, 4].map((i) => `Invalid value [${i + 1}] for [spec.dataSchema.metricsSpec[${i}]]: expected an object`).join('; ')}; and 2 more`,
    },
  ]
  for (const { name, given, expect } of cases) {
    it(`is rejected: ${name}`, () => {
      assert.throws(
        () => parseIndexSpec(given, access),
        (error) => {
          assert.ok(error instanceof Failure, String(error))
          assert.equal(error.code, 'invalidInput')
          assert.equal(error.message, expect)
          return true
        },
      )
    })
  }

  it('is rejected: too much inline data', () => {
    const given = taskWith({ [`${io}.inputSource.data`]: 'ä'.repeat(maxInlineDataBytes / 2 + 1) })
    assert.throws(() => parseIndexSpec(given, access), {
      code: 'tooLarge',
      message: `The value of [spec.ioConfig.inputSource.data] is too large ([${maxInlineDataBytes + 2}] bytes): expected at most [${maxInlineDataBytes}] bytes`,
    })
  })

  it('is rejected by default if it reads local files or URIs', () => {
    const nothing: InputAccess = { allowedRoots: [], allowedHosts: [] }
    assert.throws(
      () => parseIndexSpec(taskWith(local({ baseDir: root, filter: '*' })), nothing),
      /expected no local path, because \[svc\.ingestion\.local\.allowedRoots\] is empty/,
    )
    assert.throws(
      () => parseIndexSpec(taskWith(http('https://data.example.com/x')), nothing),
      /expected no URI, because \[svc\.ingestion\.http\.allowedHosts\] is empty/,
    )
  })
})

describe('a valid task', () => {
  it("has Druid's defaults", () => {
    const given = {
      type: 'index_parallel',
      spec: {
        dataSchema: { dataSource: 'wiki', timestampSpec: {}, dimensionsSpec: null, transformSpec: null },
        ioConfig: {
          type: 'index_parallel',
          inputSource: { type: 'inline', data: '' },
          inputFormat: { type: 'json' },
          appendToExisting: null,
        },
      },
    }
    assert.deepEqual(parseIndexSpec(given, access), {
      id: undefined,
      groupId: undefined,
      context: {},
      dataSource: 'wiki',
      timestamp: { column: 'timestamp', format: 'auto', missingValueMs: undefined },
      dimensions: [],
      dimensionExclusions: [],
      metrics: [],
      segmentGranularity: 'DAY',
      queryGranularity: 'NONE',
      rollup: true,
      intervals: undefined,
      inputSource: { type: 'inline', data: '' },
      inputFormat: { type: 'json' },
      appendToExisting: false,
      dropExisting: false,
      maxRowsPerSegment: 5_000_000,
      maxParseExceptions: 0,
      logParseExceptions: false,
    })
  })

  it('keeps its values', () => {
    const given = taskWith({
      id: 'mine',
      groupId: 'ours',
      context: { priority: 75, nested: { a: [null] } },
      [`${schema}.dataSource`]: 'Größe & Co. 日本',
      [`${schema}.timestampSpec`]: { column: 't', format: 'yyyy-MM-dd', missingValue: '2026-01-01' },
      [`${schema}.granularitySpec`]: {
        type: 'uniform',
        segmentGranularity: 'month',
        queryGranularity: 'Hour',
        rollup: true,
        intervals: ['2026-01-01/P1M'],
      },
      [`${io}.inputFormat`]: { type: 'tsv', findColumnsFromHeader: true, columns: ['a'], skipHeaderRows: 2 },
      [`${io}.appendToExisting`]: false,
      [`${io}.dropExisting`]: true,
      [tuning]: {
        maxRowsPerSegment: 7,
        maxParseExceptions: 3,
        logParseExceptions: true,
        indexSpec: { bitmap: { type: 'concise' }, longEncoding: 'auto' },
      },
    })
    assert.deepEqual(parseIndexSpec(given, access), {
      id: 'mine',
      groupId: 'ours',
      context: { priority: 75, nested: { a: [null] } },
      dataSource: 'Größe & Co. 日本',
      timestamp: { column: 't', format: 'yyyy-MM-dd', missingValueMs: Date.UTC(2026, 0, 1) },
      dimensions: [
        { name: 'channel', type: 'string' },
        { name: 'age', type: 'long' },
      ],
      dimensionExclusions: [],
      metrics: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
      segmentGranularity: 'MONTH',
      queryGranularity: 'HOUR',
      rollup: true,
      intervals: [{ start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) }],
      inputSource: { type: 'inline', data: '{"timestamp":"2026-10-01"}' },
      inputFormat: { type: 'tsv', delimiter: '\t', columns: undefined, skipHeaderRows: 2 },
      appendToExisting: false,
      dropExisting: true,
      maxRowsPerSegment: 7,
      maxParseExceptions: 3,
      logParseExceptions: true,
    })
  })

  it('may name local files by the allowed folder and by the target of its link', () => {
    const linked: InputAccess = { allowedRoots: [join(folder, 'link-to-root')], allowedHosts: [] }
    for (const path of [root, join(root, 'sub'), join(folder, 'link-to-root', 'a.csv')]) {
      parseIndexSpec(taskWith(local({ files: [path] })), linked)
    }
  })

  it('may read from allowed hosts, in any letter case', () => {
    for (const uri of [
      'https://data.example.com/x.csv?a=b',
      'http://data.example.com/x',
      'https://DATA.example.com:443/x',
      'https://other.example.com:8443/x',
    ]) {
      parseIndexSpec(taskWith(http(uri)), access)
    }
  })
})

describe('a list of a task', () => {
  const lists: readonly [name: string, change: (count: number) => object][] = [
    ['intervals', (count) => ({ granularitySpec: { intervals: Array(count).fill('2026-01-01/P1D') } })],
    ['metricsSpec', (count) => ({ metricsSpec: Array(count).fill({ type: 'count', name: 'n' }) })],
    ['dimensionExclusions', (count) => ({ dimensionsSpec: { dimensionExclusions: Array(count).fill('a') } })],
  ]
  for (const [name, change] of lists) {
    it(`[${name}] has at most 10,000 entries, checked before its entries`, () => {
      const task = (count: number) => ({
        type: 'index_parallel',
        spec: {
          dataSchema: { dataSource: 'wiki', timestampSpec: { column: 't' }, ...change(count) },
          ioConfig: {
            type: 'index_parallel',
            inputSource: { type: 'inline', data: '' },
            inputFormat: { type: 'json' },
          },
        },
      })
      const startedAt = process.threadCpuUsage()
      assert.throws(() => parseIndexSpec(task(1_000_000), { allowedRoots: [], allowedHosts: [] }), {
        message: new RegExp(
          `^Invalid value .* for \\[spec\\.dataSchema\\..*${name}\\]: expected at most 10000 entries$`,
        ),
      })
      // CPU time, because other programs may use the processors as well.
      assert.ok(process.threadCpuUsage(startedAt).user < 1_000_000)
      if (name !== 'metricsSpec') parseIndexSpec(task(10_000), { allowedRoots: [], allowedHosts: [] })
    })
  }
})
