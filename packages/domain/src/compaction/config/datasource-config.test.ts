import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Failure } from '../../failure/index.ts'
import { assertRunnableBy, formatCompactionConfig, parseCompactionConfig } from './index.ts'

const minimal = {
  dataSource: 'koalas',
  taskPriority: 25,
  inputSegmentSizeBytes: 100_000_000_000_000,
  maxRowsPerSegment: null,
  skipOffsetFromLatest: 'P1D',
  tuningConfig: null,
  granularitySpec: null,
  dimensionsSpec: null,
  metricsSpec: null,
  transformSpec: null,
  ioConfig: null,
  engine: null,
  taskContext: null,
}
const untuned = {
  maxRowsInMemory: null,
  appendableIndexSpec: null,
  maxBytesInMemory: null,
  maxTotalRows: null,
  splitHintSpec: null,
  partitionsSpec: null,
  indexSpec: null,
  indexSpecForIntermediatePersists: null,
  maxPendingPersists: null,
  pushTimeout: null,
  segmentWriteOutMediumFactory: null,
  maxNumConcurrentSubTasks: null,
  maxRetry: null,
  taskStatusCheckPeriodMs: null,
  chatHandlerTimeout: null,
  chatHandlerNumRetries: null,
  maxNumSegmentsToMerge: null,
  totalNumMergeTasks: null,
  maxColumnsToMerge: null,
  type: 'index_parallel',
  forceGuaranteedRollup: false,
}

const answered = (given: object): unknown =>
  formatCompactionConfig(parseCompactionConfig({ dataSource: 'koalas', ...given }))

/** Returns the message and the field of the failure. */
function refusal(work: () => unknown): [message: string, field: string | undefined] {
  try {
    work()
  } catch (error) {
    const { code, message, context } = error as Failure
    assert.equal(code, 'invalidInput')
    return [message, context.field]
  }
  return ['accepted', undefined]
}

describe('the compaction configuration of a datasource', () => {
  const accepted: readonly [name: string, given: object, shown: object][] = [
    ['fills in defaults', {}, {}],
    [
      'fills in defaults for null',
      Object.fromEntries(Object.keys(minimal).map((key) => [key, key === 'dataSource' ? 'koalas' : null])),
      {},
    ],
    ['accepts the type [inline]', { type: 'inline' }, {}],
    [
      'keeps projections',
      { projections: [{ type: 'aggregate', name: 'p' }] },
      { projections: [{ type: 'aggregate', name: 'p' }] },
    ],
    ['accepts an empty tuningConfig', { tuningConfig: {} }, { tuningConfig: untuned }],
    [
      'accepts dynamic partitions',
      { tuningConfig: { partitionsSpec: { type: 'dynamic', maxTotalRows: 20 } } },
      {
        tuningConfig: {
          ...untuned,
          partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 5_000_000, maxTotalRows: 20 },
        },
      },
    ],
    [
      'treats -1 as absent',
      { tuningConfig: { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: -1, maxTotalRows: -1 } } },
      {
        tuningConfig: {
          ...untuned,
          partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 5_000_000, maxTotalRows: null },
        },
      },
    ],
    [
      'accepts hashed partitions with numShards',
      { tuningConfig: { partitionsSpec: { type: 'hashed', numShards: 3, partitionDimensions: ['a'] } } },
      {
        tuningConfig: {
          ...untuned,
          partitionsSpec: {
            type: 'hashed',
            numShards: 3,
            partitionDimensions: ['a'],
            partitionFunction: 'murmur3_32_abs',
            maxRowsPerSegment: null,
          },
          forceGuaranteedRollup: true,
        },
      },
    ],
    [
      'accepts range partitions',
      {
        tuningConfig: {
          partitionsSpec: { type: 'range', targetRowsPerSegment: 9, partitionDimensions: ['a'] },
        },
      },
      {
        tuningConfig: {
          ...untuned,
          partitionsSpec: {
            type: 'range',
            targetRowsPerSegment: 9,
            maxRowsPerSegment: null,
            partitionDimensions: ['a'],
            assumeGrouped: false,
          },
          forceGuaranteedRollup: true,
        },
      },
    ],
    [
      'accepts granularities as names and as objects',
      {
        granularitySpec: {
          segmentGranularity: { type: 'period', period: 'P1M', timeZone: 'UTC', origin: null },
          queryGranularity: { type: 'none' },
          rollup: null,
        },
      },
      { granularitySpec: { segmentGranularity: 'MONTH', queryGranularity: 'NONE' } },
    ],
    [
      'accepts dimensions by name and by type',
      {
        dimensionsSpec: {
          dimensions: [
            'a',
            { type: 'long', name: 'b' },
            { type: 'string', name: 'c', multiValueHandling: 'array', createBitmapIndex: false },
          ],
        },
      },
      {
        dimensionsSpec: {
          dimensions: [
            { type: 'string', name: 'a', multiValueHandling: 'SORTED_ARRAY', createBitmapIndex: true },
            { type: 'long', name: 'b', multiValueHandling: 'SORTED_ARRAY', createBitmapIndex: false },
            { type: 'string', name: 'c', multiValueHandling: 'ARRAY', createBitmapIndex: false },
          ],
        },
      },
    ],
    [
      'accepts metrics',
      {
        metricsSpec: [
          { type: 'count', name: 'n' },
          { type: 'doubleMax', name: 'm', fieldName: 'f' },
        ],
      },
      {
        metricsSpec: [
          { type: 'count', name: 'n' },
          { type: 'doubleMax', name: 'm', fieldName: 'f' },
        ],
      },
    ],
    [
      'accepts a filter',
      {
        transformSpec: {
          filter: {
            type: 'and',
            fields: [
              { type: 'not', field: { type: 'selector', dimension: 'a', value: null } },
              { type: 'interval', dimension: '__time', intervals: ['2026-01-01/P1D'] },
            ],
          },
        },
      },
      {
        transformSpec: {
          filter: {
            type: 'and',
            fields: [
              { type: 'not', field: { type: 'selector', dimension: 'a' } },
              {
                type: 'interval',
                dimension: '__time',
                intervals: ['2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z'],
              },
            ],
          },
        },
      },
    ],
    [
      'accepts tuning settings that have no effect in svc',
      {
        tuningConfig: {
          indexSpec: {
            bitmap: { type: 'roaring' },
            stringDictionaryEncoding: { type: 'frontCoded', bucketSize: 4 },
            metricCompression: 'none',
          },
          splitHintSpec: { type: 'maxSize', maxSplitSize: '1GiB', maxNumFiles: 1000 },
          appendableIndexSpec: { type: 'onheap' },
          segmentWriteOutMediumFactory: { type: 'tmpFile' },
          chatHandlerTimeout: 'PT10S',
          maxRowsInMemory: 1_000_000,
        },
      },
      {
        tuningConfig: {
          ...untuned,
          indexSpec: {
            bitmap: { type: 'roaring' },
            stringDictionaryEncoding: { type: 'frontCoded', bucketSize: 4 },
            metricCompression: 'none',
          },
          splitHintSpec: { type: 'maxSize', maxSplitSize: 2 ** 30, maxNumFiles: 1000 },
          appendableIndexSpec: { type: 'onheap' },
          segmentWriteOutMediumFactory: { type: 'tmpFile' },
          chatHandlerTimeout: 'PT10S',
          maxRowsInMemory: 1_000_000,
        },
      },
    ],
    ['ignores the case of engines', { engine: 'NATIVE' }, { engine: 'native' }],
    [
      'keeps the taskContext',
      { taskContext: { priority: 5, other: [1] } },
      { taskContext: { priority: 5, other: [1] } },
    ],
    ['keeps dropExisting', { ioConfig: {} }, { ioConfig: { dropExisting: null } }],
  ]
  for (const [name, given, shown] of accepted) {
    it(name, () => {
      const once = answered(given)
      assert.deepEqual(once, { ...minimal, ...shown })
      assert.deepEqual(formatCompactionConfig(parseCompactionConfig(once)), once, 'the output is valid input')
      assert.deepEqual(
        Object.keys(once as object).filter((key) => key !== 'projections'),
        Object.keys(minimal),
      )
    })
  }

  const partitions = (spec: object) => ({ tuningConfig: { partitionsSpec: spec } })
  const filtered = (filter: unknown) => ({ transformSpec: { filter } })
  const refused: readonly [given: unknown, field: string | undefined][] = [
    [null, 'body'],
    [[], 'body'],
    ['koalas', 'body'],
    [{ dataSource: undefined }, 'dataSource'],
    [{ dataSource: '' }, 'dataSource'],
    [{ dataSource: ' ' }, 'dataSource'],
    [{ dataSource: 'a/b' }, 'dataSource'],
    [{ dataSource: 'a\nb' }, 'dataSource'],
    [{ dataSource: 'x'.repeat(256) }, 'dataSource'],
    [{ colour: 'red' }, 'colour'],
    [JSON.parse('{"__proto__":{}}'), '__proto__'],
    [{ type: 'catalog' }, 'type'],
    [{ taskPriority: 'high' }, 'taskPriority'],
    [{ taskPriority: 1.5 }, 'taskPriority'],
    [{ inputSegmentSizeBytes: -1 }, 'inputSegmentSizeBytes'],
    [{ maxRowsPerSegment: 0 }, 'maxRowsPerSegment'],
    [{ skipOffsetFromLatest: '1 day' }, 'skipOffsetFromLatest'],
    [{ skipOffsetFromLatest: 5 }, 'skipOffsetFromLatest'],
    [{ tuningConfig: [] }, 'tuningConfig'],
    [{ tuningConfig: { colour: 1 } }, 'tuningConfig.colour'],
    [{ tuningConfig: { type: 'index' } }, 'tuningConfig.type'],
    [{ tuningConfig: { forceGuaranteedRollup: 'yes' } }, 'tuningConfig.forceGuaranteedRollup'],
    [{ tuningConfig: { indexSpec: { bitmap: { type: 'other' } } } }, 'tuningConfig.indexSpec.bitmap.type'],
    [{ tuningConfig: { chatHandlerTimeout: 'soon' } }, 'tuningConfig.chatHandlerTimeout'],
    [
      { tuningConfig: { splitHintSpec: { type: 'maxSize', maxSplitSize: 'big' } } },
      'tuningConfig.splitHintSpec.maxSplitSize',
    ],
    [partitions({ type: 'magic' }), 'tuningConfig.partitionsSpec.type'],
    [partitions({}), 'tuningConfig.partitionsSpec.type'],
    [partitions({ type: 'constructor' }), 'tuningConfig.partitionsSpec.type'],
    [partitions({ type: 'dynamic', numShards: 2 }), 'tuningConfig.partitionsSpec.numShards'],
    [partitions({ type: 'dynamic', maxRowsPerSegment: 0 }), 'tuningConfig.partitionsSpec.maxRowsPerSegment'],
    [
      partitions({ type: 'hashed', numShards: 2, targetRowsPerSegment: 5 }),
      'tuningConfig.partitionsSpec.numShards',
    ],
    [
      partitions({ type: 'hashed', partitionFunction: 'md5' }),
      'tuningConfig.partitionsSpec.partitionFunction',
    ],
    [
      partitions({ type: 'range', partitionDimensions: ['a'] }),
      'tuningConfig.partitionsSpec.targetRowsPerSegment',
    ],
    [
      partitions({ type: 'range', targetRowsPerSegment: 5 }),
      'tuningConfig.partitionsSpec.partitionDimensions',
    ],
    [
      partitions({ type: 'range', targetRowsPerSegment: 5, partitionDimensions: [] }),
      'tuningConfig.partitionsSpec.partitionDimensions',
    ],
    [{ granularitySpec: { segmentGranularity: 'FORTNIGHT' } }, 'granularitySpec.segmentGranularity'],
    [{ granularitySpec: { segmentGranularity: 'NONE' } }, 'granularitySpec.segmentGranularity'],
    [
      { granularitySpec: { segmentGranularity: { type: 'period', period: 'P2D' } } },
      'granularitySpec.segmentGranularity',
    ],
    [
      {
        granularitySpec: {
          segmentGranularity: { type: 'period', period: 'P1D', timeZone: 'America/New_York' },
        },
      },
      'granularitySpec.segmentGranularity',
    ],
    [
      { granularitySpec: { segmentGranularity: 'ALL', queryGranularity: 'ALL' } },
      'granularitySpec.queryGranularity',
    ],
    [{ granularitySpec: { rollup: 1 } }, 'granularitySpec.rollup'],
    [{ granularitySpec: { intervals: [] } }, 'granularitySpec.intervals'],
    [{ dimensionsSpec: { dimensions: ['a', 'A'] } }, 'dimensionsSpec.dimensions'],
    [{ dimensionsSpec: { dimensions: ['__time'] } }, 'dimensionsSpec.dimensions[0].name'],
    [{ dimensionsSpec: { dimensions: [{ type: 'geo', name: 'a' }] } }, 'dimensionsSpec.dimensions[0].type'],
    [{ metricsSpec: {} }, 'metricsSpec'],
    [{ metricsSpec: [{ type: 'sum', name: 'a', fieldName: 'a' }] }, 'metricsSpec[0].type'],
    [{ metricsSpec: [{ type: 'longSum', name: 'a' }] }, 'metricsSpec[0].fieldName'],
    [{ metricsSpec: [{ type: 'count', name: 'a' }], dimensionsSpec: { dimensions: ['a'] } }, 'metricsSpec'],
    [filtered({ type: 'javascript' }), 'transformSpec.filter.type'],
    [filtered({ type: 'and', fields: [] }), 'transformSpec.filter.fields'],
    [filtered({ type: 'or', fields: [{ type: 'not' }] }), 'transformSpec.filter.fields[0].field'],
    [filtered({ type: 'bound', dimension: 'a' }), 'transformSpec.filter.lower'],
    [filtered({ type: 'bound', dimension: 'a', lower: 'x'.repeat(65_537) }), 'transformSpec.filter.lower'],
    [filtered({ type: 'like', dimension: 'a', pattern: '%'.repeat(65_537) }), 'transformSpec.filter.pattern'],
    [
      filtered({ type: 'interval', dimension: '__time', intervals: ['x'] }),
      'transformSpec.filter.intervals[0]',
    ],
    [{ transformSpec: { transforms: [] } }, 'transformSpec.transforms'],
    [{ ioConfig: { dropExisting: 'yes' } }, 'ioConfig.dropExisting'],
    [{ projections: [{ name: '' }] }, 'projections[0].name'],
    [{ engine: 'warp' }, 'engine'],
    [{ taskContext: 'x' }, 'taskContext'],
    [{ taskContext: { priority: 'high' } }, 'taskContext.priority'],
  ]
  for (const [given, field] of refused) {
    it(`rejects ${JSON.stringify(given)?.slice(0, 110)}`, () => {
      const full = given === null || Array.isArray(given) || typeof given === 'string'
      const [message, named] = refusal(() =>
        parseCompactionConfig(full ? given : { dataSource: 'koalas', ...(given as object) }),
      )
      assert.equal(named, field)
      assert.match(message, /: expected /)
    })
  }

  it('accepts only configurations whose output is valid input', () => {
    const keys = Object.keys(minimal)
    const anything = fc.dictionary(fc.constantFrom(...keys, 'projections', 'type'), fc.jsonValue())
    fc.assert(
      fc.property(anything, (given) => {
        let config: ReturnType<typeof parseCompactionConfig>
        try {
          config = parseCompactionConfig({ dataSource: 'koalas', ...given })
        } catch (error) {
          assert.equal((error as Failure).code, 'invalidInput')
          return
        }
        const shown = JSON.parse(JSON.stringify(formatCompactionConfig(config)))
        assert.deepEqual(formatCompactionConfig(parseCompactionConfig(shown)), shown)
      }),
    )
  })
})

describe('the engine', () => {
  const on = { engine: 'native', useSupervisors: true } as const
  const msq = (given: object) => parseCompactionConfig({ dataSource: 'koalas', engine: 'msq', ...given })
  const sum = { type: 'longSum', name: 'added', fieldName: 'added' }
  const rows: readonly [name: string, given: object, field: string | undefined][] = [
    ['msq does not require a tuningConfig', {}, undefined],
    ['msq supports dynamic partitions', { tuningConfig: { partitionsSpec: { type: 'dynamic' } } }, undefined],
    [
      'msq requires a partitionsSpec in the tuningConfig',
      { tuningConfig: {} },
      'tuningConfig.partitionsSpec',
    ],
    [
      'msq does not support hashed partitions',
      { tuningConfig: { partitionsSpec: { type: 'hashed' } } },
      'tuningConfig.partitionsSpec.type',
    ],
    [
      'msq does not support maxTotalRows',
      { tuningConfig: { partitionsSpec: { type: 'dynamic', maxTotalRows: 1 } } },
      'tuningConfig.partitionsSpec.maxTotalRows',
    ],
    [
      'msq supports range partitions only for string dimensions',
      {
        tuningConfig: { partitionsSpec: { type: 'range', maxRowsPerSegment: 1, partitionDimensions: ['n'] } },
        dimensionsSpec: { dimensions: [{ type: 'long', name: 'n' }] },
      },
      'tuningConfig.partitionsSpec.partitionDimensions',
    ],
    [
      'msq does not support metrics without rollup',
      { metricsSpec: [sum], granularitySpec: { rollup: false } },
      'granularitySpec.rollup',
    ],
    [
      'msq does not support rollup without metrics',
      { granularitySpec: { rollup: true } },
      'granularitySpec.rollup',
    ],
    [
      'msq supports rollup with metrics',
      { metricsSpec: [sum], granularitySpec: { rollup: true } },
      undefined,
    ],
    [
      'msq does not support metrics whose fieldName differs from their name',
      { metricsSpec: [{ ...sum, name: 'sum' }] },
      'metricsSpec',
    ],
    ['msq requires at least two tasks', { taskContext: { maxNumTasks: 1 } }, 'taskContext.maxNumTasks'],
  ]
  for (const [name, given, field] of rows) {
    it(name, () => assert.equal(refusal(() => assertRunnableBy(msq(given), on))[1], field))
  }

  it('msq requires supervisors', () => {
    assert.equal(
      refusal(() => assertRunnableBy(msq({}), { engine: 'native', useSupervisors: false }))[1],
      'engine',
    )
  })

  it('defaults to the engine of the cluster', () => {
    const config = parseCompactionConfig({ dataSource: 'koalas', tuningConfig: {} })
    assert.equal(
      refusal(() => assertRunnableBy(config, { engine: 'msq', useSupervisors: true }))[1],
      'tuningConfig.partitionsSpec',
    )
    assert.equal(refusal(() => assertRunnableBy(config, on))[0], 'accepted')
  })
})

it('rejects filters with more than 99 levels, which could overflow the stack', () => {
  const config = (levels: number) => {
    let filter: object = { type: 'true' }
    for (let level = 1; level < levels; level += 1) filter = { type: 'not', field: filter }
    return { dataSource: 'wiki', transformSpec: { filter } }
  }
  parseCompactionConfig(config(50))
  for (const levels of [1000, 40_000])
    assert.throws(() => parseCompactionConfig(config(levels)), {
      code: 'invalidInput',
      message: 'The filter is nested too deeply: expected at most [99] levels',
    })
})
