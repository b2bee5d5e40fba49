import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defaultRule, formatRule, parseRules, type RuleJson } from '@svc/domain/rules'
import { parseInstant } from '@svc/domain/time'
import { diffOfRules, timelinePicture, warningsOfHeader } from '../rules/index.ts'
import { changedListOf, isKnown, previewRequestOf, stepsTable, unknownReason } from './index.ts'

const now = parseInstant('2026-06-15')

describe('the timeline of rules', () => {
  const picture = (rules: object[], columns = 60) =>
    timelinePicture({ rules: [...parseRules(rules), defaultRule], now, columns })

  test('shows copies by tier, dropped data, and the matching rule', () => {
    assert.deepEqual(
      picture([
        { type: 'loadByPeriod', period: 'P1M', tieredReplicants: { hot: 2, cold: 12 } },
        { type: 'loadByPeriod', period: 'P2M', tieredReplicants: { cold: 1 } },
        { type: 'dropForever' },
      ]),
      [
        '               2026-04-07            2026-05-15   2026-06-22',
        '                                                    now|',
        'cold           ....111111111111111111+++++++++++++++++++++++',
        'hot            ......................22222222222222222222222',
        'unused         xxxx.........................................',
        'rule           222211111111111111111100000000000000000000000',
      ],
    )
  })

  test('stretches short intervals, and says so', () => {
    const rules = [
      { type: 'loadByInterval', interval: '2001-02-01/2001-03-01', tieredReplicants: { hot: 1 } },
      { type: 'dropForever' },
    ]
    assert.deepEqual(picture(rules, 80), [
      'not to scale   1997-11-30   2001-02-01 2001-03-01                     2029-08-16',
      '                                                                now|',
      'hot            .............11111111111.........................................',
      'unused         xxxxxxxxxxxxx...........xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
      'rule           11111111111110000000000011111111111111111111111111111111111111111',
    ])
  })

  test('has lines of equal length, within the columns', () => {
    for (const columns of [30, 60, 120]) {
      const lines = picture([{ type: 'broadcastForever' }], columns)
      const [, , ...bars] = lines
      assert.equal(new Set(bars.map(({ length }) => length)).size, 1)
      assert.ok(bars[0]!.length <= Math.max(columns, 40))
      assert.ok(bars.some((line) => /^every server +b+$/.test(line)))
    }
  })

  test('covers the years around now if no rule has a time', () => {
    const [axis] = picture([{ type: 'dropForever' }])
    assert.match(axis!, /2025-06-15 .*2027-06-15$/)
  })

  test('ignores eternity', () => {
    const eternity = '-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z'
    assert.match(picture([{ type: 'loadByInterval', interval: eternity }])[0]!, /2025-06-15/)
  })
})

describe('differences between rules', () => {
  const rules = (...periods: string[]) =>
    parseRules(periods.map((period) => ({ type: 'dropBeforeByPeriod', period }))).map(
      formatRule,
    ) as RuleJson[]
  const cases: [before: string[], after: string[], diff: string][] = [
    [[], [], ''],
    [['P1D'], ['P1D'], ' P1D'],
    [['P1D'], ['P2D'], '-P1D +P2D'],
    [['P1D', 'P2D', 'P3D'], ['P1D', 'P3D'], ' P1D -P2D  P3D'],
    [['P1D', 'P3D'], ['P1D', 'P2D', 'P3D'], ' P1D +P2D  P3D'],
    [['P1D', 'P2D', 'P3D', 'P4D'], ['P4D', 'P2D', 'P3D', 'P1D'], '-P1D +P4D  P2D  P3D -P4D +P1D'],
  ]
  for (const [before, after, diff] of cases) {
    test(`${before} to ${after}`, () => {
      const signs = { same: ' ', removed: '-', added: '+' }
      const lines = diffOfRules(rules(...before), rules(...after))
      assert.equal(lines.map(({ kind, rule }) => `${signs[kind]}${rule.period}`).join(' '), diff)
    })
  }
})

describe('the preview request', () => {
  const list = [{ type: 'dropForever' }]
  const cases: [json: unknown, options: object, request: object][] = [
    [list, {}, { rules: list }],
    [list, { datasource: 'a', horizon: 'P1D' }, { rules: { a: list }, horizon: 'P1D' }],
    [list, { datasource: '_default', now: '2026' }, { rules: {}, defaultRules: list, now: '2026' }],
    [{ a: list, b: [] }, {}, { rules: { a: list, b: [] } }],
    [{ rules: { a: list }, segments: [] }, {}, { rules: { a: list }, segments: [] }],
    [{ rules: list, servers: [] }, { horizon: 'P1D' }, { rules: list, servers: [], horizon: 'P1D' }],
    [{ rules: list }, {}, { rules: { rules: list } }],
  ]
  for (const [json, options, request] of cases) {
    test(JSON.stringify([json, options]), () => assert.deepEqual(previewRequestOf(json, options), request))
  }
  const changed: [body: Record<string, unknown>, list: object | undefined][] = [
    [{ rules: list }, { datasource: undefined, list }],
    [{ rules: { a: list } }, { datasource: 'a', list }],
    [
      { rules: {}, defaultRules: list },
      { datasource: '_default', list },
    ],
    [{ rules: { _default: list } }, { datasource: '_default', list }],
    [{ rules: { a: list, b: [] } }, undefined],
    [{ rules: { a: list }, defaultRules: list }, undefined],
    [{ rules: list, defaultRules: list }, undefined],
    [{ rules: {} }, undefined],
  ]
  for (const [body, only] of changed)
    test(`with ${JSON.stringify(body)} changes ${only ? 'one list' : 'several lists or none'}`, () =>
      assert.deepEqual(changedListOf(body), only))

  test('rejects options that do not match the file', () => {
    assert.throws(() => previewRequestOf({ a: list }, { datasource: 'a' }), /--datasource requires/)
    for (const json of [5, null, 'x'])
      assert.throws(() => previewRequestOf(json, {}), /^Failure: Invalid rules in the file/)
  })
})

test('a preview is only shown once the cluster is known', () => {
  const unknown = { now: '0', known: false as const, reasons: ['a', 'b'] }
  assert.equal(isKnown(unknown), false)
  assert.equal(unknownReason(unknown), 'The state of the cluster is not known yet: a; b')
  assert.equal(isKnown({ now: '0', known: true } as never), true)
})

test('lists only steps with changes', () => {
  const none = { segments: 0, copies: 0, bytes: 0 }
  const two = { segments: 1, copies: 2, bytes: 20 }
  const summaryOf = (loaded: object, dropped: object, segments: number) => ({
    wiki: {
      tiers: { hot: { before: none, after: none, loaded, dropped } },
      markedUnused: { segments, bytes: 0 },
      oldestInterval: null,
      newestInterval: null,
    },
  })
  const steps = [
    { now: '2026-06-16T00:00:00.000Z', datasources: summaryOf(none, none, 0) },
    { now: '2026-06-17T00:00:00.000Z', datasources: summaryOf(two, none, 0) },
    { now: '2026-06-18T12:30:00.000Z', datasources: summaryOf(none, two, 1) },
  ]
  const answer = { now: '0', summary: { datasources: {}, steps }, warnings: [] } as never
  assert.deepEqual(stepsTable(answer).rows, [
    ['2026-06-17T00:00Z', 'wiki', 'hot +2'],
    ['2026-06-18T12:30Z', 'wiki', 'hot -2, 1 segment marked as unused'],
  ])
})

test('lists the warnings of the header, and how many more there are', () => {
  assert.deepEqual(warningsOfHeader(undefined), [])
  assert.deepEqual(warningsOfHeader('{"count":0,"warnings":[]}'), [])
  assert.deepEqual(warningsOfHeader('{"count":3,"warnings":[{"message":"a"}]}'), ['a', 'and 2 more'])
  assert.deepEqual(warningsOfHeader('{"count":1000,"isAtLeast":true,"warnings":[{"message":"a"}]}'), [
    'a',
    'and at least 999 more',
  ])
})
