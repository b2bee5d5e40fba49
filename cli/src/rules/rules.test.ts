import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatRule, parseRules } from '@svc/domain/rules'
import { longRuleLists } from '@svc/domain/testing'
import { formatTable } from '../terminal/index.ts'
import {
  auditHeaders,
  diffOfRules,
  historyTable,
  parseRulesText,
  rulesTable,
  timelinePicture,
} from './index.ts'

/** A rule as returned by the coordinator. */
const answered = (rule: object) => formatRule(parseRules([rule])[0]!)

describe('a rule in a table', () => {
  const cases: { rule: object; appliesTo: string; copies: string }[] = [
    { rule: { type: 'loadForever' }, appliesTo: 'everything', copies: '_default_tier 2' },
    {
      rule: { type: 'loadByPeriod', period: 'P1M', tieredReplicants: { hot: 2, cold: 1 } },
      appliesTo: 'the last P1M and the future',
      copies: 'hot 2, cold 1',
    },
    {
      rule: { type: 'loadByPeriod', period: 'P1M', includeFuture: false, tieredReplicants: {} },
      appliesTo: 'the last P1M',
      copies: 'in deep storage only',
    },
    {
      rule: { type: 'loadByInterval', interval: '2001-01-01/2001-02-01', tieredReplicants: { cold: 1 } },
      appliesTo: '2001-01-01/2001-02-01',
      copies: 'cold 1',
    },
    {
      rule: { type: 'dropByInterval', interval: '2001-01-01T06:00Z/2001-02-01' },
      appliesTo: '2001-01-01T06:00:00.000Z/2001-02-01',
      copies: 'none',
    },
    { rule: { type: 'dropForever' }, appliesTo: 'everything', copies: 'none' },
    {
      rule: { type: 'dropByPeriod', period: 'P1D' },
      appliesTo: 'the last P1D and the future',
      copies: 'none',
    },
    { rule: { type: 'dropBeforeByPeriod', period: 'P1Y' }, appliesTo: 'older than P1Y', copies: 'none' },
    { rule: { type: 'broadcastForever' }, appliesTo: 'everything', copies: 'on every server' },
  ]
  for (const { rule, appliesTo, copies } of cases) {
    test(JSON.stringify(rule), () => {
      const { header, rows } = rulesTable({ flights: [answered(rule)] })
      assert.equal(rows[0]!.length, header.length)
      assert.deepEqual(rows[0]!.slice(3), [appliesTo, copies])
    })
  }
})

test('numbers rules from 0 within their datasource, in the given order', () => {
  const drop = answered({ type: 'dropForever' })
  const { rows } = rulesTable({ a: [drop, drop], b: [drop] })
  assert.deepEqual(
    rows.map(([dataSource, number]) => `${dataSource} ${number}`),
    ['a 0', 'a 1', 'b 0'],
  )
})

test('a change is one row without control characters', () => {
  const { header, rows } = historyTable([
    {
      id: 7,
      key: 'flights',
      auditInfo: { author: 'me\x1b[2J', identity: 'admin', comment: 'first\nsecond' },
      payload: '[{"type":"loadForever"},{"type":"dropForever"}]',
      auditTime: '2026-01-01T00:00:00.000Z',
    },
    {
      key: 'flights',
      auditInfo: { author: '', identity: 'admin', comment: '' },
      payload: '[]',
      auditTime: '2026-01-02T00:00:00.000Z',
    },
  ])
  assert.equal(rows[0]!.length, header.length)
  assert.deepEqual(rows, [
    [
      '7',
      '2026-01-01T00:00:00.000Z',
      'flights',
      'me [2J',
      'admin',
      'first second',
      'loadForever, dropForever',
    ],
    ['', '2026-01-02T00:00:00.000Z', 'flights', '', 'admin', '', 'none'],
  ])
})

test('sends rules as written', () => {
  const text = '[{"type":"loadByPeriod","period":"P1M"},{"type":"dropForever"}]'
  assert.deepEqual(parseRulesText(text, 'file [x]'), JSON.parse(text))
  assert.deepEqual(parseRulesText('[]', 'file [x]'), [])
})

describe('rejects invalid rules', () => {
  const cases: [string, RegExp][] = [
    ['', /^Failure: Invalid rules in file \[x\]: expected JSON/],
    [
      '[{"type":"load"}]',
      /^Failure: Invalid value \[load\] for \[rules\[0\]\.type\]: expected one of \[loadForever/,
    ],
    ['{"type":"loadForever"}', /^Failure: Invalid value .* for \[rules\]: expected a list of rules$/],
    ['[{"type":"loadByPeriod","period":"1M"}]', /Invalid value \[1M\] for \[rules\[0\]\.period\]/],
  ]
  for (const [text, message] of cases) {
    test(JSON.stringify(text), () => assert.throws(() => parseRulesText(text, 'file [x]'), message))
  }
})

test('sends author and comment as headers, and rejects values that headers cannot contain', () => {
  assert.deepEqual(auditHeaders({}), {})
  assert.deepEqual(auditHeaders({ author: 'me', comment: 'a, b' }), {
    'X-Svc-Author': 'me',
    'X-Svc-Comment': 'a, b',
  })
  for (const value of ['a\r\nX-Other: b', '\x7f', '\ud800']) {
    assert.throws(() => auditHeaders({ comment: value }), /^Failure: Invalid value .* for \[--comment\]/s)
  }
})

test('rejects comments that servers would cut, with what follows them', () => {
  const suffix = { commentSuffix: ' (plan 1)' }
  const longest = 'x'.repeat(1015)
  assert.deepEqual(auditHeaders({ comment: longest, ...suffix }), { 'X-Svc-Comment': `${longest} (plan 1)` })
  assert.throws(
    () => auditHeaders({ comment: `${longest}x`, ...suffix }),
    /for \[--comment\]: expected at most 1,015 characters, not 1,016$/,
  )
})

describe('10,000 rules are shown quickly', () => {
  // Each takes some tens of milliseconds.
  const maxMs = 10_000
  for (const [name, rulesOf] of Object.entries(longRuleLists)) {
    test(name, () => {
      const rules = parseRules(rulesOf(10_000))
      const shown = rules.map((rule) => formatRule(rule))
      const startedAt = performance.now()
      timelinePicture({ rules, now: Date.UTC(2026, 5, 15), columns: 100 })
      const { header, rows } = rulesTable({ wiki: shown })
      assert.equal(formatTable(header, rows).split('\n').length, 10_001)
      diffOfRules(shown, shown.toReversed())
      diffOfRules(shown.slice(0, 1900), shown.slice(100, 2000))
      assert.ok(performance.now() - startedAt < maxMs)
    })
  }

  test('a table has as many rows as it is given', () => {
    const rows = Array.from({ length: 300_000 }, (_, index) => ['wiki', String(index)])
    assert.ok(formatTable(['datasource', '#'], rows).endsWith('299999'))
  })
})
