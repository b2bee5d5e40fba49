import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatClusterConfig, parseClusterConfig } from './config/index.ts'
import { describePlan, describeStatus, parseCompactionPreview, planCompaction } from './index.ts'

const segment = {
  dataSource: 'wiki',
  interval: '2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z',
  version: '1',
  partitionNum: 0,
  partitions: 1,
  size: 7,
  numRows: 1,
  lastCompactionState: null,
}

describe('a compaction preview request', () => {
  it('may be empty, complete, or only a cluster configuration', () => {
    assert.deepEqual(parseCompactionPreview({}), {
      cluster: undefined,
      configs: undefined,
      segments: undefined,
      workerCapacity: undefined,
    })
    const full = parseCompactionPreview({
      clusterConfig: { compactionTaskSlotRatio: 0.5 },
      compactionConfigs: [{ dataSource: 'wiki' }],
      segments: [segment, { ...segment, partitionNum: 1, numRows: undefined }],
      workerCapacity: 12,
      now: '2026-01-01',
    })
    assert.equal(full.cluster?.compactionTaskSlotRatio, 0.5)
    assert.equal(full.workerCapacity, 12)
    assert.deepEqual(
      full.segments?.map(({ id, sizeBytes, totalRows, lastCompactionState }) => [
        id.slice(-3),
        sizeBytes,
        totalRows,
        lastCompactionState,
      ]),
      [
        ['Z_1', 7, 1, undefined],
        ['1_1', 7, undefined, undefined],
      ],
    )
    const bare = { compactionPolicy: { type: 'fixedIntervalOrder', eligibleCandidates: [] } }
    assert.deepEqual(parseCompactionPreview(bare).cluster, parseClusterConfig(bare))
    const complete = formatClusterConfig(parseClusterConfig({}))
    assert.deepEqual(parseCompactionPreview(complete).cluster, parseClusterConfig(complete))
  })

  for (const { body, message } of [
    { body: [], message: /^Invalid value \[\[\]\] for \[body\]: expected an object$/ },
    { body: null, message: /^Invalid value \[null\] for \[body\]/ },
    { body: { compactionTaskSlotRatio: 2 }, message: /^Invalid value \[2\] for \[compactionTaskSlotRatio\]/ },
    { body: { foo: 1 }, message: /Unknown field \[foo\]/ },
    { body: { segments: [], foo: 1 }, message: /^Unknown field \[foo\]/ },
    { body: { clusterConfig: 7 }, message: /^Invalid value \[7\] for \[clusterConfig\]/ },
    { body: { clusterConfig: { engine: 'msq' } }, message: /engine/ },
    { body: { compactionConfigs: {} }, message: /^Invalid value \[{}\] for \[compactionConfigs\]/ },
    {
      body: { compactionConfigs: [{}] },
      message: /^Missing value for \[compactionConfigs\[0\]\.dataSource\]/,
    },
    {
      body: { compactionConfigs: [{ dataSource: 'a' }, { dataSource: 'a' }] },
      message: /^Duplicate entry \[a\] in \[compactionConfigs\]/,
    },
    {
      body: { segments: [{ ...segment, size: -1 }] },
      message: /^Invalid value \[-1\] for \[segments\[0\]\.size\]/,
    },
    {
      body: { segments: [{ ...segment, interval: 'x' }] },
      message: /^Invalid value \[x\] for \[segments\[0\]\.interval\]/,
    },
    { body: { segments: [{ ...segment, interval: '2026/2026' }] }, message: /non-empty/ },
    {
      body: { segments: [{ ...segment, lastCompactionState: 3 }] },
      message: /^Invalid value \[3\] for \[segments\[0\]\.lastCompactionState\]/,
    },
    { body: { segments: [{ ...segment, more: 3 }] }, message: /^Unknown field \[segments\[0\]\.more\] with/ },
    { body: { segments: [segment, segment] }, message: /^Duplicate entry \[wiki_.*\] in \[segments\]/ },
    { body: { now: 'then' }, message: /^Invalid value \[then\] for \[now\]/ },
    {
      body: { clusterConfig: {}, compactionConfigs: [{ dataSource: 'a', engine: 'msq' }] },
      message: /^Invalid value \[msq\] for \[engine\]/,
    },
  ]) {
    it(`is invalid: ${JSON.stringify(body).slice(0, 90)}`, () => {
      assert.throws(() => parseCompactionPreview(body), { code: 'invalidInput', message })
    })
  }

  it('fails only with invalidInput, for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('clusterConfig', 'segments', 'x'), (json, name) => {
        for (const body of [json, { [name]: json }]) {
          try {
            parseCompactionPreview(body)
          } catch (error) {
            assert.equal((error as { code?: string }).code, 'invalidInput')
          }
        }
      }),
    )
  })
})

describe('a compaction preview answer', () => {
  const request = parseCompactionPreview({
    clusterConfig: {
      compactionPolicy: { type: 'mostFragmentedFirst', minUncompactedCount: 2, minUncompactedBytes: 1 },
    },
    compactionConfigs: [{ dataSource: 'wiki', skipOffsetFromLatest: 'P1D' }],
    segments: [0, 1, 2].flatMap((day) =>
      Array.from({ length: day + 1 }, (_, partitionNum) => ({
        ...segment,
        interval: `2026-01-0${day + 1}/P1D`,
        partitionNum,
        partitions: day + 1,
      })),
    ),
  })
  const planFor = (segments: typeof request.segments) =>
    planCompaction({
      cluster: request.cluster!,
      configs: request.configs!,
      segmentsOf: () => segments!,
      locks: [],
      workerCapacity: 4,
    })
  const plan = planFor(request.segments)

  it('lists selected, postponed, and skipped intervals', () => {
    const id = (day: number, rest = '') =>
      `wiki_2026-01-0${day}T00:00:00.000Z_2026-01-0${day + 1}T00:00:00.000Z_1${rest}`
    const interval = (day: number) => `2026-01-0${day}T00:00:00.000Z/2026-01-0${day + 1}T00:00:00.000Z`
    assert.deepEqual(describePlan(plan), {
      candidates: [
        {
          dataSource: 'wiki',
          interval: interval(2),
          compactionInterval: interval(2),
          segments: [id(2), id(2, '_1')],
          bytes: 14,
          eligible: true,
          mode: 'ALL_SEGMENTS',
          slots: 1,
          reason: 'not compacted yet',
        },
        {
          dataSource: 'wiki',
          interval: interval(1),
          compactionInterval: interval(1),
          segments: [id(1)],
          bytes: 7,
          eligible: false,
          mode: null,
          slots: 1,
          reason: 'not compacted yet; [1] uncompacted segments, fewer than minUncompactedCount [2]',
        },
      ],
      stats: {
        wiki: {
          compacted: { bytes: 0, segments: 0, intervals: 0 },
          skipped: { bytes: 21, segments: 3, intervals: 1 },
          awaiting: { bytes: 14, segments: 2, intervals: 1 },
        },
      },
      skipped: [
        {
          dataSource: 'wiki',
          interval: interval(3),
          code: 'SKIP_OFFSET_FROM_LATEST',
          reason: `overlaps [${interval(3)}], which skipOffsetFromLatest [P1D] excludes`,
        },
      ],
    })
  })

  it('counts postponed intervals as skipped in a status', () => {
    const status = describeStatus(plan, 'wiki')
    assert.deepEqual(
      [status.segmentCountAwaitingCompaction, status.segmentCountSkipped, status.intervalCountSkipped],
      [2, 4, 2],
    )
  })

  it('has a message only for a datasource with data, as in Druid 37', () => {
    assert.equal(describeStatus(plan, 'wiki').message, null)
    assert.ok(!('message' in describeStatus(planFor([]), 'wiki')))
  })
})
