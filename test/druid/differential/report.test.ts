import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { invalidInput } from './differences.ts'
import { hasPassed, summarize } from './report.ts'

const hashes = 'password hashes'

/** A report about one seed with 100 requests. */
const reportOf = (listed: Readonly<Record<string, number>>, failedSeeds: readonly number[] = []) =>
  summarize(
    [
      {
        seed: 1,
        requests: 100,
        listed: new Map(Object.entries(listed)),
        unlisted: [],
        unsettled: 0,
        spentMs: { state: 1, duties: 1, requests: 1 },
      },
    ],
    [],
    failedSeeds,
  )

describe('a run has passed', () => {
  test('with listed differences that cover at most 2% of the requests', () => {
    const report = reportOf({ [hashes]: 2 })
    assert.deepEqual(report.listed[hashes], { requests: 2, percent: 2 })
    assert.ok(hasPassed(report))
  })

  test('with any number of requests that svc refuses because they are invalid', () =>
    assert.ok(hasPassed(reportOf({ [invalidInput]: 50 }))))

  test('not with a listed difference that covers more than 2% of the requests', () => {
    const report = reportOf({ [hashes]: 3 })
    assert.deepEqual(report.tooFrequent, [hashes])
    assert.ok(!hasPassed(report))
  })

  test('not with a seed that failed', () => assert.ok(!hasPassed(reportOf({}, [2]))))
})
