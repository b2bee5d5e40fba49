import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testClient } from '../testing/index.ts'
import {
  formatCompactionExplanation,
  formatExplanation,
  formatIntervalExplanation,
  readCompactionExplanation,
  readExplanation,
  readIntervalExplanation,
} from './index.ts'

const base = 'GET /svc/coordinator/v1'
const id = 'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v1'
const explained = {
  segment: id,
  dataSource: 'wiki',
  state: 'partial',
  summary:
    'The segment is under-replicated: [hot] has 1 of 2 replicas. Tier [hot]: the next run assigns 1 replica',
  causes: [{ code: 'nextRun', tier: 'hot', text: 'Tier [hot]: the next run assigns 1 replica' }],
  rule: { number: 1, place: 0, source: 'defaults', rule: { type: 'loadForever' } },
  earlierRules: [
    {
      number: 0,
      place: 0,
      source: 'dataSource',
      rule: { type: 'dropByPeriod' },
      text: 'The segment ends too early',
    },
  ],
  omittedRules: 3,
  tiers: [
    {
      tier: 'hot',
      required: 2,
      served: 1,
      loading: 0,
      dropping: 0,
      leaving: 0,
      servers: 2,
      activeServers: 2,
    },
  ],
  omittedTiers: 2,
  servers: [{ server: 'h1', tier: 'hot', state: 'serves', text: 'Serves the segment' }],
  omittedServers: 7,
  next: [
    { code: 'load', text: 'The next run assigns the segment to [h2]' },
    {
      code: 'ruleChange',
      at: '2026-02-01T00:00:00.000Z',
      text: 'Another rule applies from then on: rule [0] (dropForever)',
    },
  ],
}

describe('the explanation of a segment', () => {
  const client = testClient({
    [`${base}/metadata/datasources?includeUnused`]: ['wiki', 'koalas'],
    [`${base}/datasources/wiki/segments/${encodeURIComponent(id)}/explain`]: explained,
  })

  it('is found by the ID, and shows rules, tiers, servers, and what happens next', async () => {
    assert.equal(
      formatExplanation(await readExplanation(client, id, undefined)),
      `${id}
The segment is under-replicated: [hot] has 1 of 2 replicas. Tier [hot]: the next run assigns 1 replica.

Rules:
- 3 other earlier rules do not apply
- Rule [0] {"type":"dropByPeriod"} does not apply. The segment ends too early.
- Default rule [0] {"type":"loadForever"} applies

tier  required  served  loading  dropping  servers
hot   2         1       0        0         2
and 2 more tiers

server  tier  state
h1      hot   Serves the segment
and 7 more servers

Next:
- The next run assigns the segment to [h2]
- 2026-02-01T00:00:00.000Z: Another rule applies from then on: rule [0] (dropForever)`,
    )
  })

  it('shows replicas on decommissioning servers apart from the others', () => {
    const [tier] = explained.tiers
    const text = formatExplanation({ ...explained, tiers: [{ ...tier, leaving: 3 }] } as never)
    assert.match(text, /^tier {2}required {2}served {2}decommissioning {2}loading .*\nhot {3}2 {9}1 {7}3 /m)
  })

  it('needs an ID of a datasource that the user may read', async () => {
    await assert.rejects(readExplanation(client, 'other_x', undefined), { code: 'notFound' })
  })
})

const interval = '2026-01-01T00:00:00.000Z_2026-01-05T00:00:00.000Z'

describe('the explanation of an interval', () => {
  it('lists the segments that are not loaded', async () => {
    const client = testClient({
      [`${base}/datasources/wiki/intervals/${encodeURIComponent(interval)}/explain`]: {
        dataSource: 'wiki',
        interval: 'I',
        segments: 2,
        summary: '2 used segments: 1 loaded, 1 unavailable',
        notLoaded: [{ segment: id, state: 'missing', summary: 'The segment is not available for queries' }],
        unused: [
          {
            code: 'dropRule',
            segments: 3,
            example: { segment: 'S', text: 'The segment is unused: because' },
          },
        ],
      },
    })
    assert.equal(
      formatIntervalExplanation(await readIntervalExplanation(client, 'wiki', '2026-01-01/P4D')),
      `wiki I\n2 used segments: 1 loaded, 1 unavailable.\n\n${id}\n  The segment is not available for queries.\n\n3 unused segments with cause [dropRule], for example S\n  The segment is unused: because.`,
    )
  })
})

describe('the explanation of compaction', () => {
  const finding = (day: number, code: string) => ({
    interval: `2026-01-0${day}T00:00:00.000Z/2026-01-0${day + 1}T00:00:00.000Z`,
    code,
    reason: `because of ${code}`,
    segments: 1,
    bytes: 1000,
  })

  it('shows consecutive intervals with the same explanation as one', async () => {
    const client = testClient({
      [`${base}/datasources/wiki/intervals/${encodeURIComponent(interval)}/explainCompaction`]: {
        dataSource: 'wiki',
        configured: true,
        intervals: [finding(1, 'NEXT'), finding(2, 'WAITING'), finding(3, 'WAITING'), finding(4, 'NEXT')],
      },
    })
    assert.equal(
      formatCompactionExplanation(await readCompactionExplanation(client, 'wiki', '2026-01-01/P4D')),
      `2026-01-01/2026-01-02  NEXT  1 segment, 1.0 kB
  because of NEXT.
2026-01-02/2026-01-04  WAITING  2 segments, 2.0 kB
  because of WAITING.
2026-01-04/2026-01-05  NEXT  1 segment, 1.0 kB
  because of NEXT.`,
    )
  })

  it('shows when intervals are expected to be compacted, and that the speed is assumed', () => {
    const done = (day: number, doneAt: string) => ({ ...finding(day, 'NEXT'), doneAt })
    const intervals = [done(1, '2026-02-01T00:00:20.000Z'), done(2, '2026-02-01T00:00:10.000Z')]
    const explained = { dataSource: 'wiki', configured: true, speed: 'assumed' as const, intervals }
    const expected = `2026-01-01/2026-01-03  NEXT  2 segments, 2.0 kB
  because of NEXT. Expected to be compacted by 2026-02-01T00:00:20.000Z.`
    assert.equal(formatCompactionExplanation({ ...explained, speed: 'measured' }), expected)
    assert.match(
      formatCompactionExplanation(explained),
      /compacted by .+\nExpected times assume 2 s for each task plus processing at 10 MB\/s/,
    )
  })

  it('says that compaction is not configured, or that there is nothing to compact', () => {
    assert.equal(
      formatCompactionExplanation({ dataSource: 'wiki', configured: false, speed: 'assumed', intervals: [] }),
      'Compaction is not configured for datasource [wiki].',
    )
    assert.equal(
      formatCompactionExplanation({ dataSource: 'wiki', configured: true, speed: 'assumed', intervals: [] }),
      'The interval has no used segments.',
    )
  })
})
