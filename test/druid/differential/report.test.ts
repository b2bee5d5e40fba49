import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { invalidInput } from './differences.ts'
import { hasPassed, summarize } from './report.ts'

const hashes = 'password hashes'

/** A report about one seed, by default with 2,000 requests. */
const reportOf = (
  listed: Readonly<Record<string, number>>,
  { failedSeeds = [], requests = 2000 }: { failedSeeds?: readonly number[]; requests?: number } = {},
) =>
  summarize(
    [
      {
        seed: 1,
        requests,
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
    const report = reportOf({ [hashes]: 40 })
    assert.deepEqual(report.listed[hashes], { requests: 40, percent: 2 })
    assert.ok(hasPassed(report))
  })

  test('with any number of requests that svc refuses because they are invalid', () =>
    assert.ok(hasPassed(reportOf({ [invalidInput]: 1000 }))))

  test('not with a listed difference that covers more than 2% of the requests', () => {
    const report = reportOf({ [hashes]: 60 })
    assert.deepEqual(report.tooFrequent, [hashes])
    assert.ok(!hasPassed(report))
  })

  test('with any listed differences if it is short', () =>
    assert.ok(hasPassed(reportOf({ [hashes]: 50 }, { requests: 100 }))))

  test('not with a seed that failed', () => assert.ok(!hasPassed(reportOf({}, { failedSeeds: [2] }))))
})
