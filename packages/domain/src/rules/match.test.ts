import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eternity, parseInstant, parseInterval } from '../time/index.ts'
import {
  compileRules,
  describeWantedCopies,
  effectiveRules,
  matchRule,
  parseRules,
  ruleApplies,
} from './index.ts'

const now = parseInstant('2026-11-21T00:00:00.000Z')

test('uses the first rule that applies', () => {
  const rules = compileRules(
    parseRules([
      { type: 'loadByPeriod', period: 'P1M' },
      { type: 'dropBeforeByPeriod', period: 'P1Y' },
      { type: 'loadByInterval', interval: '2026-01-01/2026-02-01' },
    ]),
    now,
  )
  assert.equal(matchRule(rules, parseInterval('2026-11-01/P1D')), 0)
  assert.equal(matchRule(rules, parseInterval('2024-01-01/P1D')), 1)
  assert.equal(matchRule(rules, parseInterval('2026-01-31/P1D')), 2)
  assert.equal(matchRule(rules, parseInterval('2026-02-01/P1D')), -1)
  assert.equal(matchRule(compileRules(effectiveRules([], []), now), parseInterval('2026-02-01/P1D')), 0)
})

for (const { rule, segment, applies } of [
  { rule: { type: 'dropByPeriod', period: 'P2147483647Y' }, segment: eternity, applies: false },
  {
    rule: { type: 'dropByPeriod', period: 'P2147483647Y' },
    segment: parseInterval('2026-11-20/P1D'),
    applies: true,
  },
  { rule: { type: 'loadByPeriod', period: 'P2147483647Y' }, segment: eternity, applies: true },
  {
    rule: { type: 'dropBeforeByPeriod', period: 'P1D' },
    segment: parseInterval('2026-11-19/P1D'),
    applies: true,
  },
  { rule: { type: 'dropBeforeByPeriod', period: 'P1D' }, segment: eternity, applies: false },
]) {
  const verb = applies ? 'applies' : 'does not apply'
  test(`${JSON.stringify(rule)} ${verb} to ${segment.start} to ${segment.end}`, () => {
    assert.equal(ruleApplies(parseRules([rule])[0]!, segment, now), applies)
  })
}

for (const { rule, wanted } of [
  {
    rule: { type: 'loadForever', tieredReplicants: { hot: 2, cold: 0 } },
    wanted: { action: 'load', tieredReplicants: new Map([['hot', 2]]) },
  },
  {
    rule: { type: 'loadForever', tieredReplicants: {} },
    wanted: { action: 'load', tieredReplicants: new Map() },
  },
  { rule: { type: 'dropBeforeByPeriod', period: 'P1D' }, wanted: { action: 'drop' } },
  { rule: { type: 'broadcastForever' }, wanted: { action: 'broadcast' } },
]) {
  test(`${JSON.stringify(rule)} results in ${wanted.action}`, () => {
    assert.deepEqual(describeWantedCopies(parseRules([rule])[0]!), wanted)
  })
}
