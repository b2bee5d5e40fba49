import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseInstant } from '@svc/domain/time'
import { returningSegments } from './returning-segments.ts'

const now = parseInstant('2026-06-15')
const load = (period: string) => ({ type: 'loadByPeriod', period, tieredReplicants: { hot: 1 } })
const drop = { type: 'dropForever' }
const defaults = [{ type: 'loadForever', tieredReplicants: { hot: 1 } }]
const unused = ['2026-06-10/2026-06-11', '2026-05-20/2026-05-21', '2026-01-01/2026-01-02'].map(
  (interval) => ({
    interval,
    size: 10,
  }),
)

for (const { name, stored, edited, expected } of [
  { name: 'a longer period', stored: [load('P10D'), drop], edited: [load('P1M'), drop], expected: 1 },
  { name: 'a shorter period', stored: [load('P1M'), drop], edited: [load('P1D'), drop], expected: 0 },
  { name: 'no drop rule', stored: [load('P10D'), drop], edited: [], expected: 2 },
  { name: 'invalid rules', stored: [drop], edited: [{ type: 'load' }], expected: 0 },
])
  test(`counts unused segments that the stored rules drop and an edit keeps: ${name}`, () => {
    const found = returningSegments(unused, {
      stored: { own: stored, defaults },
      edited: { own: edited, defaults },
      now,
    })
    assert.deepEqual(found, { segments: expected, bytes: 10 * expected })
  })
