import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readDocuments } from './snapshot-documents.ts'
import { createProblems } from './snapshot-problems.ts'
import type { DocumentName, SnapshotSource } from './snapshot-source.ts'

const readable: Readonly<Record<DocumentName, unknown>> = {
  servers: [{ host: 'a:1', tier: 'hot', type: 'historical', maxSize: 1 }],
  rules: { _default: [{ type: 'dropForever' }], wiki: [{ type: 'loadForever' }] },
  compaction: { compactionConfigs: [{ dataSource: 'wiki' }], compactionTaskSlotRatio: 0.5 },
  config: { maxSegmentsToMove: 7 },
}
const bad = [{ type: 'loadSometimes' }]

const cases: readonly [name: string, changed: Partial<Record<DocumentName, unknown>>, effects: string[]][] = [
  ['nothing', {}, []],
  [
    'the dynamic configuration',
    { config: 7 },
    ['dynamic configuration of the coordinator: left out, so all of its fields have their defaults'],
  ],
  [
    'fields of the dynamic configuration',
    { config: { maxSegmentsToMove: 7, colour: 'red', pauseCoordination: 'maybe' } },
    [
      'dynamic configuration of the coordinator: fields [colour], [pauseCoordination] left out, so the defaults apply to them; the other fields are kept',
    ],
  ],
  [
    'some rules',
    { rules: { _default: bad, wiki: bad, koalas: bad, flights: [] } },
    [
      'rules: left out for [koalas], [wiki], because each rule depends on the ones before it; the default rules apply',
      'default rules: left out, because each rule depends on the ones before it; [_default_tier] loads 2 replicas of all segments to which no other rule applies',
    ],
  ],
  ['all rules', { rules: [] }, ['rules: left out, so [_default_tier] loads 2 replicas of every segment']],
  [
    'parts of the compaction configuration',
    { compaction: { compactionConfigs: [{ dataSource: 'wiki', x: 1 }, 7, { dataSource: 'b' }], x: 1 } },
    [
      'compaction configuration of the cluster: field [x] left out, so the defaults apply to it; the other fields are kept',
      'compaction configurations: left out for [wiki], [number 2], because a configuration without its unreadable fields would compact differently; these datasources are not compacted automatically',
    ],
  ],
  [
    'the compaction configuration',
    { compaction: 7 },
    [
      'compaction configuration: left out, so the defaults apply, and no datasource is compacted automatically',
    ],
  ],
]

describe('documents with parts that an import skips', () => {
  for (const [name, changed, effects] of cases) {
    it(`${name} say what applies instead`, async () => {
      const document = async (of: DocumentName) => ({ ...readable, ...changed })[of]
      const read = await readDocuments({ document } as unknown as SnapshotSource, createProblems())
      assert.deepEqual(
        read.unreadable.map(({ part, effect }) => `${part}: ${effect}`),
        effects,
      )
    })
  }

  it('keep their readable fields', async () => {
    const changed: Partial<Record<DocumentName, unknown>> = {
      config: { maxSegmentsToMove: 7, colour: 'red' },
      compaction: { compactionConfigs: [], compactionTaskSlotRatio: 0.5, x: 1 },
    }
    const document = async (of: DocumentName) => ({ ...readable, ...changed })[of]
    const problems = createProblems()
    const read = await readDocuments({ document } as unknown as SnapshotSource, problems)
    assert.equal(read.config?.maxSegmentsToMove, 7)
    assert.equal(read.compaction?.cluster.compactionTaskSlotRatio, 0.5)
    assert.equal(problems.count, 2)
    assert.deepEqual(
      ['x', 'colour'].filter((name) => !problems.listed.some((one) => one.includes(`[${name}]`))),
      [],
    )
  })
})
