import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseCompactionConfig } from '../compaction-config/index.ts'
import { compareWith, stateAfter } from './index.ts'

const configOf = (json: object) => parseCompactionConfig({ dataSource: 'wiki', ...json })
const base = stateAfter(configOf({}))
const dynamic = (more: object) => ({ tuningConfig: { partitionsSpec: { type: 'dynamic', ...more } } })
const range = { type: 'range', targetRowsPerSegment: 1000, partitionDimensions: ['b'] }

describe('a state differs from a configuration', () => {
  const cases: readonly { name: string; config: object; state: object; differs?: string }[] = [
    {
      name: 'in nothing where nothing is configured',
      config: {},
      state: { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 77 } },
    },
    {
      name: 'in rows of a segment',
      config: dynamic({ maxRowsPerSegment: 10 }),
      state: {},
      differs: 'partitionsSpec',
    },
    {
      name: 'not in a limit that is none',
      config: dynamic({}),
      state: { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 5_000_000, maxTotalRows: null } },
    },
    { name: 'in a limit', config: dynamic({ maxTotalRows: 9 }), state: {}, differs: 'partitionsSpec' },
    {
      name: 'in partitions that it does not know',
      config: dynamic({}),
      state: { partitionsSpec: null },
      differs: 'partitionsSpec',
    },
    {
      name: 'in rows of a segment, by their older name',
      config: { maxRowsPerSegment: 3 },
      state: {},
      differs: 'partitionsSpec',
    },
    {
      name: 'not in a target where the state has the most that follows from it',
      config: { tuningConfig: { partitionsSpec: range } },
      state: {
        partitionsSpec: {
          type: 'range',
          maxRowsPerSegment: 1500,
          partitionDimensions: ['b'],
          assumeGrouped: false,
        },
      },
    },
    {
      name: 'in how columns are stored',
      config: { tuningConfig: { partitionsSpec: null, indexSpec: { dimensionCompression: 'zstd' } } },
      state: {},
      differs: 'indexSpec',
    },
    {
      name: 'not in a default of it that is spelled out',
      config: { tuningConfig: { indexSpec: { dimensionCompression: 'lz4' } } },
      state: {},
    },
    {
      name: 'in the granularity of segments',
      config: { granularitySpec: { segmentGranularity: 'DAY' } },
      state: { granularitySpec: { segmentGranularity: 'HOUR' } },
      differs: 'segmentGranularity',
    },
    {
      name: 'not in one that it names as an object',
      config: { granularitySpec: { segmentGranularity: 'DAY' } },
      state: { granularitySpec: { segmentGranularity: { type: 'period', period: 'P1D' } } },
    },
    {
      name: 'in the granularity of rows',
      config: { granularitySpec: { queryGranularity: 'HOUR' } },
      state: { granularitySpec: { queryGranularity: { type: 'none' } } },
      differs: 'queryGranularity',
    },
    {
      name: 'not in the one of every millisecond',
      config: { granularitySpec: { queryGranularity: 'none' } },
      state: { granularitySpec: { queryGranularity: { type: 'none' } } },
    },
    {
      name: 'in rollup',
      config: { granularitySpec: { rollup: true } },
      state: { granularitySpec: { rollup: false } },
      differs: 'rollup',
    },
    {
      name: 'in rollup of which it says nothing',
      config: { granularitySpec: { rollup: false } },
      state: {},
      differs: 'rollup',
    },
    {
      name: 'in dimensions',
      config: { dimensionsSpec: { dimensions: ['a', 'b'] } },
      state: { dimensionsSpec: { dimensions: ['b', 'a'] } },
      differs: 'dimensionsSpec',
    },
    {
      name: 'not in dimensions of another spelling',
      config: { dimensionsSpec: { dimensions: ['a'] } },
      state: { dimensionsSpec: { dimensions: [{ type: 'string', name: 'a' }], dimensionExclusions: [] } },
    },
    {
      name: 'not in the place of dimensions that rows are cut by',
      config: { dimensionsSpec: { dimensions: ['a', 'b'] }, tuningConfig: { partitionsSpec: range } },
      state: {
        dimensionsSpec: { dimensions: ['b', 'a'] },
        partitionsSpec: { type: 'range', maxRowsPerSegment: 1500, partitionDimensions: ['b'] },
      },
    },
    {
      name: 'in metrics',
      config: { metricsSpec: [{ type: 'longSum', name: 'n', fieldName: 'n' }] },
      state: { metricsSpec: [] },
      differs: 'metricsSpec',
    },
    {
      name: 'not in metrics where none are configured',
      config: { metricsSpec: [] },
      state: { metricsSpec: [{ type: 'count', name: 'n' }] },
    },
    {
      name: 'in the filter of rows',
      config: { transformSpec: { filter: { type: 'selector', dimension: 'a', value: 'x' } } },
      state: {},
      differs: 'transformSpec',
    },
    {
      name: 'in projections',
      config: { projections: [{ type: 'aggregate', name: 'p' }] },
      state: {},
      differs: 'projections',
    },
    {
      name: 'in the first of several',
      config: { ...dynamic({ maxRowsPerSegment: 1 }), granularitySpec: { rollup: true } },
      state: {},
      differs: 'partitionsSpec',
    },
  ]
  for (const { name, config, state, differs } of cases) {
    it(name, () => {
      const { mismatch } = compareWith(configOf(config))({ ...base, ...state })
      assert.equal(mismatch?.split(' ')[0], differs)
    })
  }

  it('in nothing once it was compacted as configured', () => {
    for (const config of [
      {},
      dynamic({ maxRowsPerSegment: 10, maxTotalRows: 5 }),
      { tuningConfig: { partitionsSpec: { type: 'hashed', numShards: 3 } } },
      { tuningConfig: { partitionsSpec: range, indexSpec: { metricCompression: 'zstd' } } },
      {
        granularitySpec: { segmentGranularity: 'MONTH', queryGranularity: 'DAY', rollup: true },
        dimensionsSpec: { dimensions: ['a'] },
        metricsSpec: [{ type: 'longSum', name: 'n', fieldName: 'n' }],
      },
      {
        transformSpec: { filter: { type: 'selector', dimension: 'a', value: 'x' } },
        projections: [{ name: 'p', type: 'aggregate' }],
      },
    ]) {
      const parsed = configOf(config)
      const kept = JSON.parse(JSON.stringify(stateAfter(parsed)))
      assert.equal(compareWith(parsed)(kept).mismatch, undefined)
    }
  })
})
