import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ReportLog } from './report-log.ts'
import { ServedSegments } from './served-segments.ts'

function setUp(...ids: string[]) {
  const served = new ServedSegments()
  for (const id of ids) served.add(id)
  return { served, log: new ReportLog(served) }
}
const failure = (id: string) => ({ id, action: 'load', message: 'no' }) as const

describe('reports', () => {
  it('contain the full list at first, then the changes since the last accepted report', () => {
    const { served, log } = setUp('a', 'b')
    const first = log.next()
    assert.deepEqual(first, {
      session: served.session,
      from: 0,
      to: 2,
      segments: ['a', 'b'],
      changes: [],
      failures: [],
    })
    assert.equal(log.taken(first), false)
    served.add('c')
    served.remove('a')
    const second = log.next()
    assert.deepEqual(second, {
      session: served.session,
      from: 2,
      to: 4,
      segments: null,
      changes: [
        { id: 'c', change: 'loaded' },
        { id: 'a', change: 'dropped' },
      ],
      failures: [],
    })
    assert.equal(log.taken(second), false)
    assert.deepEqual(log.next().changes, [])
  })

  it('repeat what was not accepted', () => {
    const { served, log } = setUp('a')
    const first = log.next()
    log.taken(first)
    served.add('b')
    log.noteFailure(failure('x'))
    const lost = log.next()
    served.add('c')
    const again = log.next()
    assert.deepEqual([lost.from, lost.to, again.from, again.to], [1, 2, 1, 3])
    assert.equal(again.changes.length, 2)
    assert.deepEqual(again.failures, [failure('x')])
  })

  it('contain the full list when the leader requests it, with the failures it has not accepted', () => {
    const { log } = setUp('a')
    log.taken(log.next())
    log.noteFailure(failure('x'))
    log.next()
    log.refused()
    const full = log.next()
    assert.deepEqual([full.from, full.to, full.segments, full.failures], [0, 1, ['a'], [failure('x')]])
    log.taken(full)
    assert.deepEqual(log.next().failures, [])
  })

  it('indicate that there is more to report after concurrent changes', () => {
    const { served, log } = setUp('a')
    const first = log.next()
    served.add('b')
    assert.equal(log.taken(first), true)
    const second = log.next()
    log.noteFailure(failure('x'))
    assert.equal(log.taken(second), true)
    const third = log.next()
    assert.deepEqual(third.failures, [failure('x')])
    assert.equal(log.taken(third), false)
  })

  it('contain up to 1000 failures each, in order, without duplicates', () => {
    const { log } = setUp()
    for (let number = 0; number < 2500; number++) log.noteFailure(failure(String(number)))
    const reportedIds: string[] = []
    for (let more = true; more; ) {
      const report = log.next()
      reportedIds.push(...report.failures.map(({ id }) => id))
      assert.ok(report.failures.length <= 1000)
      more = log.taken(report)
    }
    assert.deepEqual(
      reportedIds,
      Array.from({ length: 2500 }, (_, number) => String(number)),
    )
  })
})
