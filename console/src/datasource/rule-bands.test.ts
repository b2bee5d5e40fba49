import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRules, RuleBoundaries } from '@svc/domain/rules'
import { ruleBands } from './rule-bands.ts'

const dayMs = 86_400_000
const now = 100 * dayMs
const bandsOf = (own: readonly object[], defaults: readonly object[] = []) =>
  ruleBands(new RuleBoundaries(parseRules(own), parseRules(defaults), now), { start: 0, end: now }).map(
    ({ start, end, index }) => [start / dayMs, end / dayMs, index],
  )

test('shows which rule applies when: of the datasource, then of the defaults, then the built-in last one', () => {
  const load = (period: string) => ({ type: 'loadByPeriod', period, tieredReplicants: { hot: 1 } })
  assert.deepEqual(bandsOf([load('P10D'), load('P30D')], [load('P60D')]), [
    [0, 40, 3],
    [40, 70, 2],
    [70, 90, 1],
    [90, 100, 0],
  ])
  assert.deepEqual(bandsOf([]), [[0, 100, 0]])
})

test('draws at most a band per pixel for 10,000 rules, in a fraction of a second', () => {
  const interval = (at: number) => `${new Date(at * 864_000).toISOString()}/PT864S`
  const rules = Array.from({ length: 10_000 }, (_, at) => ({
    type: 'loadByInterval',
    interval: interval(at),
    tieredReplicants: { hot: 1 },
  }))
  const boundaries = new RuleBoundaries(parseRules(rules), [], now)
  const before = process.threadCpuUsage()
  const bands = ruleBands(boundaries, { start: 0, end: now })
  const { user } = process.threadCpuUsage(before)
  assert.ok(bands.length > 1000 && bands.length <= 2001, String(bands.length))
  assert.ok(user < 500_000, `${user} µs`)
  assert.equal(bands[0]!.start, 0)
  assert.equal(bands.at(-1)!.end, now)
  for (const [at, { end }] of bands.slice(0, -1).entries()) assert.equal(bands[at + 1]!.start, end)
})
