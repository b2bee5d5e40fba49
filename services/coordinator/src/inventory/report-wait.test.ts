import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ReportWait } from './report-wait.ts'

describe('waiting for servers', () => {
  const courses: readonly [
    name: string,
    looks: readonly [awaited: number, nowMs: number, waits: boolean][],
  ][] = [
    ['ends immediately if all have reported', [[0, 1, false]]],
    [
      'ends when all have reported and resumes for servers that appear soon after',
      [
        [2, 1, true],
        [0, 2, false],
        [1, 8001, true],
        [1, 8002, false],
      ],
    ],
    [
      'ends when no server has reported for eight seconds',
      [
        [2, 0, true],
        [2, 7999, true],
        [2, 8000, false],
      ],
    ],
    [
      'continues for eight seconds after each report',
      [
        [3, 0, true],
        [2, 7000, true],
        [2, 14_999, true],
        [1, 14_999, true],
        [1, 22_998, true],
        [1, 22_999, false],
      ],
    ],
    [
      'is not extended when more servers are announced',
      [
        [1, 0, true],
        [900, 4000, true],
        [900, 7999, true],
        [900, 8000, false],
      ],
    ],
  ]
  for (const [name, looks] of courses)
    it(name, () => {
      const reportWait = new ReportWait()
      reportWait.restart(0)
      for (const [awaited, nowMs, waits] of looks)
        assert.equal(reportWait.waitsFor(awaited, nowMs), waits, `${awaited} at ${nowMs}`)
    })

  it('starts again with a new leader', () => {
    const reportWait = new ReportWait()
    assert.equal(reportWait.waitsFor(1, 0), false, 'the wait has not started')
    reportWait.restart(0)
    assert.equal(reportWait.waitsFor(1, 9000), false)
    reportWait.restart(10_000)
    assert.equal(reportWait.waitsFor(1, 17_999), true)
  })
})
