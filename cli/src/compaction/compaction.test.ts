import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ClusterClient } from '../client/index.ts'
import { compactionClusterPath, writeCompactionCluster } from '../live-state/index.ts'
import { plainBar } from '../terminal/index.ts'
import {
  type AnsweredSchedule,
  type AnsweredVariant,
  candidatesTable,
  configsToSet,
  differenceLines,
  historyTable,
  missingLines,
  previewRequest,
  runsTable,
  skippedTable,
  speedText,
  statusTable,
  sumsTable,
  tasksTable,
  variantsTable,
  withClusterConfig,
  withSlots,
} from './index.ts'

describe('the preview request of a file', () => {
  const config = { dataSource: 'flights', skipOffsetFromLatest: 'PT0S' }
  for (const [json, expected] of [
    [config, { compactionConfigs: [config] }],
    [[config], { compactionConfigs: [config] }],
    [{ compactionTaskSlotRatio: 0.5 }, { compactionTaskSlotRatio: 0.5 }],
    [{ segments: [] }, { segments: [] }],
    [{}, {}],
  ] as const) {
    test(JSON.stringify(json), () => assert.deepEqual(previewRequest(json), expected))
  }
  for (const [json, message] of [
    [3, /^Failure: Invalid value \[3\] for \[body\]/],
    [[{ dataSource: 7 }], /^Failure: Invalid value \[7\] for \[compactionConfigs\[0\]\.dataSource\]/],
    [
      { ...config, inputSegmentSizeBytes: -1 },
      /Invalid value \[-1\] for \[compactionConfigs\[0\]\.inputSegmentSizeBytes\]/,
    ],
    [{ engine: 'fast' }, /^Failure: Invalid value \[fast\] for \[engine\]/],
  ] as const) {
    test(`rejects ${JSON.stringify(json)}`, () => assert.throws(() => previewRequest(json), message))
  }
})

describe('the configurations in a file', () => {
  const [a, b] = [{ dataSource: 'a' }, { dataSource: 'b' }]
  for (const [json, dataSources] of [
    [a, ['a']],
    [
      [b, a],
      ['b', 'a'],
    ],
    [{ useSupervisors: true }, [undefined]],
    [{ engine: 'msq' }, [undefined]],
  ] as const) {
    test(JSON.stringify(json), () => {
      const set = configsToSet(json)
      assert.deepEqual(
        set.map(({ dataSource }) => dataSource),
        dataSources,
      )
      assert.deepEqual(
        set.map(({ config }) => config),
        [json].flat(),
      )
    })
  }
  for (const [json, message] of [
    ['a', /^Failure: Invalid configuration in the file: expected/],
    [[a, { useSupervisors: true }], /^Failure: Invalid configuration in \[1\]: expected/],
    [[a, a], /^Failure: Duplicate datasource \[a\]/],
    [
      [a, { dataSource: 'b', taskPriority: 'x' }],
      /^Failure: Invalid value \[x\] for \[\[1\]\.taskPriority\]/,
    ],
    [{ useSupervisors: 3 }, /^Failure: Invalid value \[3\] for \[useSupervisors\]/],
  ] as const) {
    test(`rejects ${JSON.stringify(json)}`, () => assert.throws(() => configsToSet(json), message))
  }
})

describe('a cluster configuration that omits fields', () => {
  const present = { compactionTaskSlotRatio: 0.5, maxCompactionTaskSlots: 0, useSupervisors: true }
  const sent: unknown[] = []
  const client = {
    request: async () => ({ status: 200, headers: { etag: '"v1"' }, body: present }),
    send: async (...request: unknown[]) => {
      if (request[0] === 'GET') return present
      sent.push(request)
      return undefined
    },
  } as unknown as ClusterClient

  test('keeps them when it is stored, if the cluster still has the same version', async () => {
    const headers = { 'X-Svc-Author': 'me' }
    await writeCompactionCluster(client, { compactionTaskSlotRatio: 0.2 }, headers)
    await writeCompactionCluster(client, { useSupervisors: false }, headers, '"v0"')
    assert.deepEqual(sent, [
      [
        'POST',
        compactionClusterPath,
        { ...present, compactionTaskSlotRatio: 0.2 },
        { ...headers, 'If-Match': '"v1"' },
      ],
      [
        'POST',
        compactionClusterPath,
        { ...present, useSupervisors: false },
        { ...headers, 'If-Match': '"v0"' },
      ],
    ])
  })

  const segments: unknown[] = []
  for (const [request, expected] of [
    [{ compactionTaskSlotRatio: 0.2 }, { ...present, compactionTaskSlotRatio: 0.2 }],
    [
      { clusterConfig: { maxCompactionTaskSlots: 3 }, segments },
      { clusterConfig: { ...present, maxCompactionTaskSlots: 3 }, segments },
    ],
    [{ segments }, { segments }],
    [{}, {}],
  ] as const) {
    test(`keeps them in the preview of ${JSON.stringify(request)}`, async () =>
      assert.deepEqual(await withClusterConfig(client, request), expected))
  }

  for (const [request, expected] of [
    [{ segments }, { segments, workerCapacity: 20 }],
    [
      { compactionTaskSlotRatio: 0.2 },
      { clusterConfig: { compactionTaskSlotRatio: 0.2 }, workerCapacity: 20 },
    ],
  ] as const)
    test(`adds task slots to the preview of ${JSON.stringify(request)}`, () => {
      assert.deepEqual(withSlots(request, 20), expected)
      assert.equal(withSlots(request, undefined), request)
    })
})

describe('tables', () => {
  const none = { bytes: 0, segments: 0, intervals: 0 }
  const plan = {
    candidates: [
      {
        dataSource: 'flights',
        interval: '2001-01-01T00:00:00.000Z/2001-01-02T00:00:00.000Z',
        compactionInterval: '2001-01-01T00:00:00.000Z/2001-02-01T00:00:00.000Z',
        segments: ['x', 'y'],
        bytes: 2500,
        eligible: true,
        mode: 'UNCOMPACTED_SEGMENTS_ONLY' as const,
        slots: 2,
        reason: 'not compacted yet',
      },
    ],
    stats: {
      flights: { compacted: none, skipped: none, awaiting: { bytes: 2500, segments: 2, intervals: 1 } },
    },
    skipped: ['01/02', '03/04', '04/05', '06/07'].map((days, index) => {
      const [start, end] = days.split('/').map((day) => `2001-03-${day}T00:00:00.000Z`)
      const reason = index === 3 ? 'locked' : 'too large'
      return { dataSource: 'flights', interval: `${start}/${end}`, code: 'INPUT_TOO_LARGE' as const, reason }
    }),
  }

  test('of a plan', () => {
    assert.deepEqual(candidatesTable(plan).rows, [
      ['1', 'flights', '2001-01-01/2001-01-02', '2', '2.5 kB', 'uncompacted only', '2', 'not compacted yet'],
    ])
    assert.deepEqual(skippedTable(plan).rows, [
      ['flights', '2001-03-01/2001-03-02', 'INPUT_TOO_LARGE', 'too large'],
      ['flights', '2001-03-03/2001-03-05 (2 intervals)', 'INPUT_TOO_LARGE', 'too large'],
      ['flights', '2001-03-06/2001-03-07', 'INPUT_TOO_LARGE', 'locked'],
    ])
    assert.deepEqual(sumsTable(plan).rows, [['flights', '-', '2.5 kB in 2 segments, 1 interval', '-']])
  })

  test('of a status have a progress bar', () => {
    const status = {
      dataSource: 'flights',
      scheduleStatus: 'RUNNING' as const,
      bytesAwaitingCompaction: 300,
      bytesCompacted: 100,
      bytesSkipped: 0,
      segmentCountAwaitingCompaction: 3,
      segmentCountCompacted: 1,
      segmentCountSkipped: 0,
      intervalCountAwaitingCompaction: 3,
      intervalCountCompacted: 1,
      intervalCountSkipped: 0,
    }
    const empty = { ...status, dataSource: 'empty', bytesAwaitingCompaction: 0, bytesCompacted: 0 }
    const { header, rows } = statusTable([status, empty], plainBar)
    assert.deepEqual(
      rows.map((row) => [row.length, ...row.slice(0, 3)]),
      [
        [header.length, 'flights', '######------------------', '25%'],
        [header.length, 'empty', '', ''],
      ],
    )
  })

  test('of tasks have a progress bar, even before the first report', () => {
    const task = { id: 'a', dataSource: 'flights', runnerStatusCode: 'RUNNING' }
    const { rows } = tasksTable(
      [
        { ...task, progress: { phase: 'writing', fraction: 0.5 } },
        { ...task, progress: null },
      ],
      plainBar,
    )
    assert.deepEqual(
      rows.map((row) => row.slice(3)),
      [
        ['############------------', '50%'],
        ['------------------------', '0%'],
      ],
    )
  })

  test('of a history contain no control characters', () => {
    const { header, rows } = historyTable([
      {
        globalConfig: { useSupervisors: false },
        compactionConfig: { dataSource: 'flights', taskPriority: 25, metricsSpec: null },
        auditInfo: { author: 'me\x1b[2J', identity: 'admin', comment: 'a\nb' },
        auditTime: '2026-01-01T00:00:00.000Z',
      },
      { globalConfig: null, compactionConfig: null, auditInfo: null, auditTime: '2026-01-02T00:00:00.000Z' },
    ])
    assert.equal(rows[0]!.length, header.length)
    assert.deepEqual(rows, [
      ['2026-01-01T00:00:00.000Z', 'me [2J', 'admin', 'a b', 'taskPriority 25', 'useSupervisors false'],
      ['2026-01-02T00:00:00.000Z', '', '', '', 'removed', ''],
    ])
  })
})

describe('a schedule', () => {
  const totals = (tasks: number, endsAt?: string) => ({
    tasks,
    segments: 2 * tasks,
    bytes: 1000 * tasks,
    slotSeconds: 60 * tasks,
    ...(endsAt === undefined ? {} : { endsAt }),
  })
  const at = '2026-02-01T00:00:10.000Z'
  const endsAt = '2026-02-01T00:01:10.000Z'
  const day = (number: number) => `2026-01-0${number}T00:00:00.000Z/2026-01-0${number + 1}T00:00:00.000Z`
  const interval = day(1)
  const task = { dataSource: 'flights', interval, bytes: 1000, slots: 1, endsAt }
  const current: AnsweredVariant = {
    name: 'current',
    driver: 'duty',
    slots: 2,
    totals: totals(3, endsAt),
    tooFewSlots: 0,
    runs: [{ at, totals: totals(3, endsAt), tasks: [task, task] }],
    omittedRuns: 0,
  }
  const supervisors: AnsweredVariant = {
    ...current,
    name: 'supervisors',
    driver: 'supervisors',
    totals: totals(0),
    tooFewSlots: 4,
    runs: [],
    configDifferences: [
      { dataSource: 'a', fields: ['taskPriority'], isConfiguredBefore: true, isConfiguredAfter: true },
      { dataSource: 'b', fields: [], isConfiguredBefore: true, isConfiguredAfter: false },
      { dataSource: 'c', fields: [], isConfiguredBefore: false, isConfiguredAfter: true },
    ],
    omittedConfigDifferences: 2,
    differences: [
      { dataSource: 'flights', interval, before: 'COMPACTED', after: 'TOO_FEW_SLOTS' },
      { dataSource: 'flights', interval: day(2), before: 'COMPACTED', after: 'TOO_FEW_SLOTS' },
      { dataSource: 'flights', interval: day(3), before: 'COMPACTED', after: 'LOCKED' },
      { dataSource: 'flights', interval: day(5), before: 'COMPACTED', after: 'LOCKED' },
    ],
    omittedDifferences: 7,
  }
  const schedule: AnsweredSchedule = {
    speed: 'assumed',
    msPerTask: 2000,
    bytesPerSecond: 10_000_000,
    variants: [current, supervisors],
    missing: [
      { dataSource: 'flights', reason: 'noPermission' },
      { dataSource: 'koalas', reason: 'noConfiguration' },
      { dataSource: 'wiki', reason: 'noSegments' },
    ],
    omittedMissing: 2,
  }

  test('names the datasources that it does not contain', () => {
    assert.deepEqual(missingLines(schedule), [
      '- [flights]: you do not have permission to read it',
      '- [koalas]: it has no compaction configuration',
      '- [wiki]: it has no used segments',
      '- and 2 more datasources',
    ])
    assert.deepEqual(missingLines({ ...schedule, missing: [], omittedMissing: 0 }), [])
  })

  test('has one row for each configuration', () => {
    const { header, rows } = variantsTable(schedule)
    assert.deepEqual(rows, [
      ['current', 'duty', '3', '6', '3.0 kB', '2', '3 min', endsAt],
      ['supervisors', 'supervisors', '0 (4 need more slots)', '0', '0 B', '2', '-', '-'],
    ])
    assert.equal(rows[0]!.length, header.length)
  })

  test('lists the tasks of each run', () => {
    assert.deepEqual(runsTable(current).rows, [
      [at, 'flights', '2026-01-01/2026-01-02', '1.0 kB', '1', endsAt],
      ['', 'flights', '2026-01-01/2026-01-02', '1.0 kB', '1', endsAt],
      ['', 'and 1 more task', '', '', '', ''],
    ])
  })

  test('names what is different from the current configuration', () => {
    assert.deepEqual(differenceLines(supervisors, current), [
      '- [a] differs in taskPriority.',
      '- [b] is configured in current, but not in supervisors.',
      '- [c] is configured in supervisors, but not in current.',
      '- and 2 more datasources configured differently',
      '- flights 2026-01-01/2026-01-03 (2 intervals): TOO_FEW_SLOTS instead of COMPACTED',
      '- flights 2026-01-03/2026-01-04: LOCKED instead of COMPACTED',
      '- flights 2026-01-05/2026-01-06: LOCKED instead of COMPACTED',
      '- and 7 more intervals',
    ])
    assert.deepEqual(differenceLines(current, current), [])
  })

  test('says which speed its times depend on', () => {
    assert.equal(
      speedText({ ...schedule, speed: 'measured', bytesPerSecond: null }),
      'Times are based on the measured speed of earlier tasks (2 s per task).',
    )
    assert.match(
      speedText(schedule),
      /an assumed speed \(2 s per task plus processing at 10\.0 MB\/s\), because/,
    )
  })
})
