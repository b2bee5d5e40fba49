import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatBytes } from '../terminal/index.ts'
import {
  blockSymbols,
  daysPerCharacter,
  minColumns,
  monthRuler,
  pictureOf,
  plainSymbols,
  rulesText,
  stateLine,
  timelineOf,
} from './picture.ts'
import { demoDays } from './steps.ts'
import { view } from './test-view.ts'

const endMs = Date.UTC(2001, 3, 1)

test('draws three days with one character each', () => {
  const seen = view({ hot: [0, 1, 2], cold: [1, 0, 0] })
  const lines = pictureOf(seen, demoDays(endMs).slice(30, 33), {
    columns: 80,
    symbols: plainSymbols,
    paint: (tier, text) => `<${tier}>${text}`,
  })
  assert.deepEqual(lines, [
    '  tier           servers  segments      bytes',
    '  hot                  2         3     3.0 kB  <hot>##########----------',
    '  cold                 2         1     1.0 kB  <cold>###-----------------',
    '  deep storage                   3     3.0 kB',
    '',
    '                 2001-01',
    '  hot            <hot>.12',
    '  cold           <cold>1..',
    '                 . none  1 one replica  2 two replicas',
    '                 (one character = one day)',
  ])
})

test('no line is wider than the terminal', () => {
  const days = demoDays(endMs)
  const seen = view({ _default_tier: days.map(() => 2), cold: days.map((_, day) => day % 3) })
  for (const columns of [minColumns, 80, 104, 105, 200]) {
    const lines = pictureOf(seen, days, { columns, symbols: blockSymbols, paint: (_, text) => text })
    const widest = Math.max(...lines.map((line) => line.length))
    assert.ok(widest <= columns, `${widest} of ${columns}`)
  }
})

describe('timelines', () => {
  const cases: { copies: number[]; daysEach: number; expect: string }[] = [
    { copies: [], daysEach: 1, expect: '' },
    { copies: [0, 1, 2, 3], daysEach: 1, expect: '.122' },
    { copies: [0, 0, 1, 1, 2], daysEach: 2, expect: '.12' },
    { copies: [0, 1, 2, 2], daysEach: 2, expect: '+2' },
  ]
  for (const { copies, daysEach, expect } of cases) {
    test(`[${copies}] by ${daysEach}`, () => assert.equal(timelineOf(copies, daysEach, plainSymbols), expect))
  }
})

test('combines days in one character if necessary to fit the width', () => {
  assert.deepEqual(
    [90, 89, 45, 44, 1].map((width) => daysPerCharacter(90, width)),
    [1, 2, 2, 3, 90],
  )
})

test('labels months at their first day', () => {
  assert.equal(monthRuler(demoDays(endMs), 1), `${'2001-01'.padEnd(31)}${'2001-02'.padEnd(28)}2001-03`)
  assert.equal(monthRuler(demoDays(endMs), 2), `${'2001-01'.padEnd(15)}${'2001-02'.padEnd(14)}2001-03`)
  assert.equal(monthRuler(demoDays(endMs), 10), '2001-01')
})

test('leaves out the label of a month that is nearly over', () => {
  const late = demoDays(Date.UTC(2026, 10, 23))
  assert.equal(monthRuler(late, 1), `${' '.repeat(7)}${'2026-09'.padEnd(30)}${'2026-10'.padEnd(31)}2026-11`)
})

test('summarizes the state in one line', () => {
  const seen = { ...view({ hot: [1, 2], cold: [0, 0] }), queuedLoads: 3, loadedPercent: 99.9 }
  assert.equal(stateLine(seen), 'hot 3, cold 0 segments; queued: 3 loads, 0 drops; load status 99%')
  const dropped = { ...view({ hot: [0] }), loadedPercent: undefined }
  assert.equal(stateLine(dropped), 'hot 0 segments; queued: 0 loads, 0 drops')
})

test('prints rules as JSON, one per line', () => {
  const rules = [{ type: 'a' }, { type: 'b' }, { type: 'c' }]
  assert.deepEqual(rulesText(rules), ['[{"type":"a"},', ' {"type":"b"},', ' {"type":"c"}]'])
  assert.deepEqual(JSON.parse(rulesText(rules).join('\n')), rules)
  assert.deepEqual(rulesText([{}]), ['[{}]'])
})

describe('bytes', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [293_640, '293.6 kB'],
    [2_500_000_000, '2.5 GB'],
  ]
  for (const [sizeBytes, expected] of cases) {
    test(expected, () => assert.equal(formatBytes(sizeBytes), expected))
  }
})
