import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { copyFlag, SegmentTable } from '../inventory/index.ts'
import { type LoadingServer, planClones } from './index.ts'

const { served, loading, dropping, refused } = copyFlag
const [source, target] = [0, 1]

const server = (more: Partial<LoadingServer> = {}): LoadingServer => ({
  number: target,
  name: 'clone',
  type: 'historical',
  tier: 'hot',
  maxSizeBytes: 1000,
  usedSizeBytes: 0,
  loadingSizeBytes: 0,
  queuedLoads: 0,
  decommissioning: false,
  ...more,
})

/** Returns a table with one segment for each pair of flags on source and target. */
function tableOf(pairs: readonly (readonly [source: number, target: number])[]): SegmentTable {
  const table = new SegmentTable()
  pairs.forEach(([ofSource, ofTarget], index) => {
    table.put({
      id: `${index}`,
      dataSource: 'wiki',
      start: index,
      end: index + 1,
      version: 'v1',
      partitionNum: 0,
      partitions: 1,
      sizeBytes: 100,
      totalRows: 1,
    })
    if (ofSource) table.changeCopy(`${index}`, source, ofSource, 0)
    if (ofTarget) table.changeCopy(`${index}`, target, ofTarget, 0)
  })
  return table
}

describe('a clone', () => {
  for (const { name, ofSource, ofTarget, expected } of [
    { name: 'loads what its source serves', ofSource: served, ofTarget: 0, expected: 'load' },
    { name: 'loads what its source loads', ofSource: loading, ofTarget: 0, expected: 'load' },
    { name: 'keeps what its source serves', ofSource: served, ofTarget: served, expected: '' },
    {
      name: 'does not load a segment that it is already loading',
      ofSource: served,
      ofTarget: loading,
      expected: '',
    },
    { name: 'does not load what it failed to load', ofSource: served, ofTarget: refused, expected: '' },
    { name: 'drops what its source does not have', ofSource: 0, ofTarget: served, expected: 'drop' },
    {
      name: 'drops what its source is dropping',
      ofSource: served | dropping,
      ofTarget: served,
      expected: 'drop',
    },
    {
      name: 'does not drop a segment that it is already dropping',
      ofSource: 0,
      ofTarget: served | dropping,
      expected: '',
    },
  ])
    it(name, () => {
      const { loads, drops } = planClones(tableOf([[ofSource, ofTarget]]), [{ target: server(), source }], 10)
      const found = loads.rows.length > 0 ? 'load' : drops.rows.length > 0 ? 'drop' : ''
      assert.equal(found, expected)
      assert.ok([...loads.servers, ...drops.servers].every((number) => number === target))
    })

  const ten = Array.from({ length: 10 }, () => [served, 0] as const)
  for (const { name, given, max, expected } of [
    {
      name: 'loads no more than fits',
      given: { maxSizeBytes: 500, usedSizeBytes: 150 },
      max: 100,
      expected: 3,
    },
    { name: 'loads no more than its queue allows', given: { queuedLoads: 2 }, max: 6, expected: 4 },
    { name: 'loads everything at once without limits', given: {}, max: Infinity, expected: 10 },
  ])
    it(name, () => {
      const { loads } = planClones(tableOf(ten), [{ target: server(given), source }], max)
      assert.equal(loads.rows.length, expected)
    })

  it('stays unchanged while its source is unavailable', () => {
    const table = tableOf([
      [0, served],
      [served, 0],
    ])
    const { loads, drops } = planClones(table, [{ target: server(), source: undefined }], 10)
    assert.deepEqual([loads.rows, drops.rows], [[], []])
  })
})
