import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AnsweredEffects } from '@svc/domain/preview'
import { effectNames } from '@svc/domain/preview'
import { effectsTable, failureReason, lossSentences, parseFailOn } from './index.ts'

const midnight = 'T00:00:00.000Z'
const none = { segments: 0, copies: 0, bytes: 0, days: 0, interval: null }
const some = {
  segments: 31,
  copies: 62,
  bytes: 104_054,
  days: 31,
  interval: `2001-01-01${midnight}/2001-02-01${midnight}`,
}
const effectsWith = (more: object): AnsweredEffects =>
  ({
    ...Object.fromEntries(effectNames.map((name) => [name, none])),
    unqueryable: { ...none, queryableBefore: 0 },
    waitingForTier: { ...none, tiers: [] },
    ...more,
  }) as unknown as AnsweredEffects

describe('the loss in words', () => {
  const cases: [effects: object, sentences: string[]][] = [
    [{}, ['No segments are affected.']],
    [{ loaded: some }, ['All data stays queryable.']],
    [
      { unqueryable: { ...some, queryableBefore: 31 }, unused: some },
      [
        '31 segments (104.1 kB, 31 days) will be unqueryable (queryable now).',
        '31 segments (104.1 kB, 31 days) will be marked unused.',
      ],
    ],
    [
      { unqueryable: { ...some, segments: 1, days: null, queryableBefore: 0 } },
      ['1 segment (104.1 kB) will be unqueryable (it already was).'],
    ],
    [
      { waitingForTier: { ...some, tiers: ['hott', 'x'] }, doesNotFit: some },
      [
        'All data stays queryable.',
        '31 segments cannot be loaded because these tiers have no servers: [hott, x].',
        '31 segments (104.1 kB, 31 days) with data before 2001-02-01 do not fit.',
      ],
    ],
  ]
  for (const [effects, sentences] of cases)
    test(sentences[0]!, () => assert.deepEqual(lossSentences(effectsWith(effects)), sentences))
})

test('the table of effects lists losses of one datasource even if there are none', () => {
  const effects = effectsWith({ moved: some })
  assert.deepEqual(effectsTable(effects, { wiki: { effects } }).rows, [
    ['wiki', 'unqueryable', '0', '', '', '', ''],
    ['wiki', 'marked unused', '0', '', '', '', ''],
    ['wiki', 'under-replicated', '0', '', '', '', ''],
    ['wiki', 'does not fit', '0', '', '', '', ''],
    ['wiki', 'moved', '31', '62', '104.1 kB', '31', '2001-01-01/2001-02-01'],
  ])
})

test('the table of effects begins with the sum of several datasources', () => {
  const effects = effectsWith({ loaded: some })
  const { rows } = effectsTable(effects, { wiki: { effects }, koalas: { effects: effectsWith({}) } })
  assert.deepEqual(
    rows.map(([dataSource, effect]) => `${dataSource} ${effect}`),
    [
      '(all) unqueryable',
      '(all) marked unused',
      '(all) under-replicated',
      '(all) does not fit',
      '(all) loaded',
      'wiki loaded',
    ],
  )
})

describe('--fail-on', () => {
  test('names effects, separated by commas', () => {
    assert.deepEqual(parseFailOn('unqueryable, doesNotFit'), ['unqueryable', 'doesNotFit'])
    assert.throws(() => parseFailOn('unqueryable,loaded'), {
      message:
        'Invalid value [loaded] for [--fail-on]: expected one of [unqueryable, unused, underReplicated, doesNotFit]',
    })
    assert.throws(() => parseFailOn(''), { code: 'invalidInput' })
  })

  test('fails only for these effects, with the reason in one line', () => {
    const effects = effectsWith({ unused: some, underReplicated: some })
    assert.equal(failureReason(effects, ['unqueryable', 'doesNotFit']), undefined)
    assert.equal(
      failureReason(effects, ['unqueryable', 'unused', 'underReplicated', 'unused']),
      'Failed because of --fail-on: [unused] (31 segments), [underReplicated] (31 segments)',
    )
  })
})
