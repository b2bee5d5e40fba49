import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { finish } from '../steps/index.ts'
import { parseCompactionConfig } from './config/index.ts'
import { compareWith, stateAfter } from './index.ts'

const configOf = (json: object) => parseCompactionConfig({ dataSource: 'wiki', ...json })
const base = stateAfter(configOf({}))
const dynamic = (more: object) => ({ tuningConfig: { partitionsSpec: { type: 'dynamic', ...more } } })
const range = { type: 'range', targetRowsPerSegment: 1000, partitionDimensions: ['b'] }

describe('comparing a compaction state with a configuration', () => {
  const cases: readonly { name: string; config: object; state: object; differs?: string }[] = [
    {
      name: 'matches if nothing is configured',
      config: {},
      state: { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 77 } },
    },
    {
      name: 'detects a different maxRowsPerSegment',
      config: dynamic({ maxRowsPerSegment: 10 }),
      state: {},
      differs: 'partitionsSpec',
    },
    {
      name: 'ignores a maxTotalRows without a limit',
      config: dynamic({}),
      state: { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 5_000_000, maxTotalRows: null } },
    },
    {
      name: 'detects a different maxTotalRows',
      config: dynamic({ maxTotalRows: 9 }),
      state: {},
      differs: 'partitionsSpec',
    },
    {
      name: 'detects an unknown partitionsSpec',
      config: dynamic({}),
      state: { partitionsSpec: null },
      differs: 'partitionsSpec',
    },
    {
      name: 'detects a different deprecated maxRowsPerSegment',
      config: { maxRowsPerSegment: 3 },
      state: {},
      differs: 'partitionsSpec',
    },
    {
      name: 'ignores a targetRowsPerSegment if the state has the maximum derived from it',
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
      name: 'detects a different indexSpec',
      config: { tuningConfig: { partitionsSpec: null, indexSpec: { dimensionCompression: 'zstd' } } },
      state: {},
      differs: 'indexSpec',
    },
    {
      name: 'ignores explicit defaults in an indexSpec',
      config: { tuningConfig: { indexSpec: { dimensionCompression: 'lz4' } } },
      state: {},
    },
    {
      name: 'detects a different segmentGranularity',
      config: { granularitySpec: { segmentGranularity: 'DAY' } },
      state: { granularitySpec: { segmentGranularity: 'HOUR' } },
      differs: 'segmentGranularity',
    },
    {
      name: 'matches a segmentGranularity in object form',
      config: { granularitySpec: { segmentGranularity: 'DAY' } },
      state: { granularitySpec: { segmentGranularity: { type: 'period', period: 'P1D' } } },
    },
    {
      name: 'detects a different queryGranularity',
      config: { granularitySpec: { queryGranularity: 'HOUR' } },
      state: { granularitySpec: { queryGranularity: { type: 'none' } } },
      differs: 'queryGranularity',
    },
    {
      name: 'matches the queryGranularity [none] in object form',
      config: { granularitySpec: { queryGranularity: 'none' } },
      state: { granularitySpec: { queryGranularity: { type: 'none' } } },
    },
    {
      name: 'detects a different rollup',
      config: { granularitySpec: { rollup: true } },
      state: { granularitySpec: { rollup: false } },
      differs: 'rollup',
    },
    {
      name: 'detects a state without rollup',
      config: { granularitySpec: { rollup: false } },
      state: {},
      differs: 'rollup',
    },
    {
      name: 'detects different dimensions',
      config: { dimensionsSpec: { dimensions: ['a', 'b'] } },
      state: { dimensionsSpec: { dimensions: ['b', 'a'] } },
      differs: 'dimensionsSpec',
    },
    {
      name: 'matches dimensions in object form',
      config: { dimensionsSpec: { dimensions: ['a'] } },
      state: { dimensionsSpec: { dimensions: [{ type: 'string', name: 'a' }], dimensionExclusions: [] } },
    },
    {
      name: 'ignores the position of partition dimensions',
      config: { dimensionsSpec: { dimensions: ['a', 'b'] }, tuningConfig: { partitionsSpec: range } },
      state: {
        dimensionsSpec: { dimensions: ['b', 'a'] },
        partitionsSpec: { type: 'range', maxRowsPerSegment: 1500, partitionDimensions: ['b'] },
      },
    },
    {
      name: 'detects different metrics',
      config: { metricsSpec: [{ type: 'longSum', name: 'n', fieldName: 'n' }] },
      state: { metricsSpec: [] },
      differs: 'metricsSpec',
    },
    {
      name: 'ignores metrics if none are configured',
      config: { metricsSpec: [] },
      state: { metricsSpec: [{ type: 'count', name: 'n' }] },
    },
    {
      name: 'detects a different filter',
      config: { transformSpec: { filter: { type: 'selector', dimension: 'a', value: 'x' } } },
      state: {},
      differs: 'transformSpec',
    },
    {
      name: 'detects different projections',
      config: { projections: [{ type: 'aggregate', name: 'p' }] },
      state: {},
      differs: 'projections',
    },
    {
      name: 'reports the first of several differences',
      config: { ...dynamic({ maxRowsPerSegment: 1 }), granularitySpec: { rollup: true } },
      state: {},
      differs: 'partitionsSpec',
    },
  ]
  for (const { name, config, state, differs } of cases) {
    it(name, () => {
      const { mismatch } = finish(compareWith(configOf(config)))({ ...base, ...state })
      assert.equal(mismatch?.split(' ')[0], differs)
    })
  }

  it('matches after compaction with the same configuration', () => {
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
      assert.equal(finish(compareWith(parsed))(kept).mismatch, undefined)
    }
  })
})
