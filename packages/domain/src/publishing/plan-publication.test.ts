import assert from 'node:assert/strict'
import { test } from 'node:test'
import { segmentId } from '../segment/index.ts'
import { type Interval, parseInterval } from '../time/index.ts'
import {
  type ExistingSegment,
  type PartitionFloor,
  type PublicationMode,
  planPublication,
} from './plan-publication.ts'

const now = Date.parse('2026-11-21T10:00:00.000Z')
const day = parseInterval('2026-10-01/2026-10-02')
const nextDay = parseInterval('2026-10-02/2026-10-03')
const month = parseInterval('2026-10-01/2026-11-01')
const nowVersion = '2026-11-21T10:00:00.000Z'
const oldVersion = '2026-11-20T00:00:00.000Z'

function existing(
  interval: Interval,
  version: string,
  partitionNum: number,
  partitions: number,
  used = true,
): ExistingSegment {
  const key = { dataSource: 'd', interval, version, partitionNum }
  return { ...key, id: segmentId(key), partitions, sizeBytes: 1, totalRows: 1, used }
}

const chunk = (interval: Interval) => ({ interval, sizeBytes: 10, totalRows: 2 })
const append: PublicationMode = { kind: 'append' }
const replace: PublicationMode = { kind: 'replace', dropExisting: [] }

const cases: {
  name: string
  mode: PublicationMode
  chunks: Interval[]
  existing?: ExistingSegment[]
  floors?: PartitionFloor[]
  added: [version: string, partitionNum: number, partitions: number][]
  unused?: string[]
}[] = [
  {
    name: 'creates no core set on the first append',
    mode: append,
    chunks: [day, day],
    added: [
      [nowVersion, 0, 0],
      [nowVersion, 1, 0],
    ],
  },
  {
    name: 'appends to the visible version',
    mode: append,
    chunks: [day],
    existing: [existing(day, oldVersion, 0, 0), existing(day, oldVersion, 1, 0)],
    added: [[oldVersion, 2, 0]],
  },
  {
    name: 'appends after a core set',
    mode: append,
    chunks: [day],
    existing: [existing(day, oldVersion, 0, 2), existing(day, oldVersion, 1, 2)],
    added: [[oldVersion, 2, 2]],
  },
  {
    name: 'does not reuse the partition number of an unused segment when appending',
    mode: append,
    chunks: [day],
    existing: [existing(day, oldVersion, 0, 0), existing(day, oldVersion, 1, 0, false)],
    added: [[oldVersion, 2, 0]],
  },
  {
    name: 'does not reuse the partition number of an erased segment when appending',
    mode: append,
    chunks: [day],
    existing: [existing(day, oldVersion, 0, 0)],
    floors: [{ interval: day, version: oldVersion, partitionNum: 1 }],
    added: [[oldVersion, 2, 0]],
  },
  {
    name: 'does not reuse a version of erased segments',
    mode: replace,
    chunks: [day],
    floors: [{ interval: month, version: nowVersion, partitionNum: 0 }],
    added: [['2026-11-21T10:00:00.001Z', 0, 1]],
  },
  {
    name: 'starts a higher version when appending to an interval with only unused segments',
    mode: append,
    chunks: [day],
    existing: [existing(day, '2026-11-21T10:00:00.000Z', 0, 0, false)],
    added: [['2026-11-21T10:00:00.001Z', 0, 0]],
  },
  {
    name: 'creates a core set when replacing',
    mode: replace,
    chunks: [day, day, nextDay],
    added: [
      [nowVersion, 0, 2],
      [nowVersion, 1, 2],
      [nowVersion, 0, 1],
    ],
  },
  {
    name: 'uses a version above one in the future when replacing',
    mode: replace,
    chunks: [day],
    existing: [existing(month, '2027-01-01T00:00:00.000Z', 0, 1)],
    added: [['2027-01-01T00:00:00.001Z', 0, 1]],
  },
  {
    name: 'marks only segments completely within dropExisting as unused',
    mode: { kind: 'replace', dropExisting: [parseInterval('2026-10-02/2026-10-05')] },
    chunks: [],
    existing: [existing(nextDay, oldVersion, 0, 1), existing(month, oldVersion, 0, 1)],
    added: [],
    unused: [existing(nextDay, oldVersion, 0, 1).id],
  },
]

for (const { name, mode, chunks, existing: segments = [], floors = [], added, unused = [] } of cases) {
  test(name, () => {
    const plan = planPublication({
      dataSource: 'd',
      chunks: chunks.map(chunk),
      existing: segments,
      floors,
      mode,
      now,
    })
    assert.deepEqual(
      plan.added.map(({ segment }) => [segment.version, segment.partitionNum, segment.partitions]),
      added,
    )
    assert.deepEqual(plan.unused, unused)
    const ids = [...segments.map(({ id }) => id), ...plan.added.map(({ segment }) => segment.id)]
    assert.equal(new Set(ids).size, ids.length, 'ids are unique')
  })
}

test('rejects appending to segments with a different interval', () => {
  const input = {
    dataSource: 'd',
    chunks: [chunk(day)],
    existing: [existing(month, oldVersion, 0, 1)],
    floors: [],
    mode: append,
    now,
  }
  assert.throws(() => planPublication(input), { code: 'conflict' })
})
