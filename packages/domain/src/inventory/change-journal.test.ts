import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangeJournal, copyFlag, SegmentTable } from './index.ts'

const dayMs = 86_400_000
const segment = (day: number, version = 'v1', days = 1) => ({
  id: `wiki_${day}_${version}`,
  dataSource: 'wiki',
  start: day * dayMs,
  end: (day + days) * dayMs,
  version,
  partitionNum: 0,
  partitions: 1,
  sizeBytes: 10,
  totalRows: 1,
})

/** Returns the changes since a position, as texts. */
function since(journal: ChangeJournal, position: number): string[] {
  const changes: string[] = []
  journal.forEachSince(position, (row, datasource, change) => changes.push(`${change} ${datasource}.${row}`))
  return changes
}

test('a journal has everything that happens to used segments', () => {
  const table = new SegmentTable()
  table.put(segment(0))
  const journal = table.startJournal()
  table.put(segment(1))
  table.settleTimeline()
  const first = journal.position
  table.changeCopy('wiki_1_v1', 7, copyFlag.loading, 0)
  table.changeCopy('wiki_1_v1', 7, copyFlag.served, copyFlag.loading)
  table.put(segment(0, 'v2', 2))
  table.settleTimeline()
  table.remove('wiki_0_v2')
  table.settleTimeline()
  table.changeCopy('wiki_1_v1', 7, 0, copyFlag.served)
  assert.deepEqual(since(journal, 0).slice(0, first), ['added 0.1'])
  assert.deepEqual(since(journal, first), [
    'loaded 0.1',
    'added 0.2',
    'overshadowed 0.0',
    'overshadowed 0.1',
    'removed 0.2',
    'visibleAgain 0.0',
    'visibleAgain 0.1',
    'dropped 0.1',
  ])
  table.stopJournal()
  table.remove('wiki_0_v1')
  assert.equal(since(journal, first).length, 8)
})

test('a journal has no copies of segments that are not used', () => {
  const table = new SegmentTable()
  const journal = table.startJournal()
  table.changeCopy('unknown', 1, copyFlag.served, 0)
  table.put(segment(0))
  table.remove('wiki_0_v1')
  table.changeCopy('wiki_0_v1', 1, copyFlag.served, 0)
  assert.deepEqual(since(journal, 0), ['added 0.1', 'removed 0.1'])
})

test('a journal forgets the oldest changes when it is full', () => {
  const journal = new ChangeJournal(3)
  for (const row of [1, 2, 3, 4]) journal.note('added', 0, row)
  assert.equal(journal.isKnown(0), false)
  assert.equal(journal.isKnown(1), true)
  assert.equal(journal.isKnown(5), false)
  assert.deepEqual(since(journal, 1), ['added 0.2', 'added 0.3', 'added 0.4'])
})
