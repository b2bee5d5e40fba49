import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseInstant, parseInterval } from '../time/index.ts'
import { parseRules, ruleApplies } from './index.ts'

interface RecordedDecision {
  readonly rule: unknown
  readonly now: string
  readonly segment: string
  readonly applies: boolean
}

test('applies every recorded rule like Druid 37', () => {
  const file = new URL('../../../../test/fixtures/vectors/rules.jsonl', import.meta.url)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  assert.equal(lines.length, 3000)
  for (const line of lines) {
    const { rule: json, now, segment, applies } = JSON.parse(line) as RecordedDecision
    const [rule] = parseRules([json])
    assert.equal(ruleApplies(rule!, parseInterval(segment), parseInstant(now)), applies, line)
  }
})
