import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnswerPlan } from '@svc/domain/querying'
import { type Interval, parseInterval } from '@svc/domain/time'
import { readNativeQuery, timesWithin } from './native-query.ts'

describe('a native query', () => {
  for (const name of ['a/b', '.', '..', 'a\u0000b', ' ']) {
    it(`is rejected for a datasource named ${JSON.stringify(name)}`, () => {
      for (const dataSource of [name, { type: 'table', name }])
        assert.throws(() => readNativeQuery({ queryType: 'scan', dataSource }, ''), { code: 'invalidInput' })
    })
  }
})

describe('the times of a native query', () => {
  const plan = (segments: readonly string[]) =>
    ({
      answering: segments.map((text) => ({ segment: { interval: parseInterval(text) }, within: undefined })),
    }) as unknown as AnswerPlan
  const days: Interval[] = Array.from({ length: 8000 }, (_, year) =>
    parseInterval(`${String(year + 1000).padStart(4, '0')}-01-01/P1D`),
  )

  it('are those that segments contain', () => {
    const times = timesWithin(
      days,
      plan(['2000-01-01/2002-06-01', '1999-12-01/2000-01-02', '2005-03-01/P1D']),
    )
    assert.deepEqual(
      times,
      ['2000', '2001', '2002'].map((year) => parseInterval(`${year}-01-01/P1D`)),
    )
    assert.deepEqual(timesWithin(days, plan([])), [])
  })
})
