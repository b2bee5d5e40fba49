import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  maxRevertedChanges,
  reversionComment,
  reversionOf,
  reversionRequest,
  revertedText,
} from './revert-rules.ts'
import type { RulesChange } from './rules-table.ts'

const list = (...types: string[]) => types.map((type) => ({ type }))
const change = (id: number, types: string[], replaced?: string[] | null, comment = ''): RulesChange => ({
  id,
  key: 'flights',
  auditInfo: { author: '', identity: 'admin', comment },
  payload: JSON.stringify(list(...types)),
  auditTime: '2026-01-01T00:00:00.000Z',
  ...(replaced === undefined ? {} : { replaced: replaced && JSON.stringify(list(...replaced)) }),
})
// Newest first. Changes 3 and 5 were made by a version that did not store what a change replaced.
const changes = [
  change(9, ['dropForever'], ['loadByPeriod']),
  change(8, ['loadByPeriod'], ['loadForever']),
  change(5, ['loadForever'], null),
  change(3, ['dropBeforeByPeriod'], null),
]

const imported: RulesChange = {
  ...change(2, ['loadForever'], []),
  auditInfo: { author: 'svc import', identity: '', comment: 'Imported from x' },
}

describe('a revert', () => {
  const cases: [to: number | undefined, first: number, rules: string[]][] = [
    [undefined, 9, ['loadByPeriod']],
    [8, 9, ['loadByPeriod']],
    [5, 8, ['loadForever']],
    [3, 5, ['dropBeforeByPeriod']],
  ]
  for (const [to, first, rules] of cases) {
    test(`to [${to}] undoes the changes since [${first}]`, () => {
      const reversion = reversionOf('flights', changes, to)
      assert.deepEqual([reversion.first.id, reversion.rules], [first, list(...rules)])
    })
  }

  test('to 0 restores the rules before the first change', () => {
    const only = [change(4, ['dropForever'], [])]
    assert.deepEqual(reversionOf('flights', only, 0).rules, [])
    assert.deepEqual(reversionOf('flights', only, undefined).rules, [])
  })

  const refused: [name: string, changes: RulesChange[], to: number | undefined, message: RegExp][] = [
    [
      'the newest change',
      changes,
      9,
      /^Failure: Invalid value \[9\] for \[--to\]: expected the ID of an earlier/,
    ],
    ['an unknown ID', changes, 7, /Invalid value \[7\] for \[--to\]/],
    [
      'rules that were not stored',
      changes,
      0,
      /does not contain the rules of \[flights\] from before change \[3\]/,
    ],
    [
      'all changes if there may be more than were read',
      Array.from({ length: maxRevertedChanges }, (_, index) => change(2000 - index, ['dropForever'], [])),
      0,
      /have changed at least \[1000\] times, and svc cannot undo that many changes at once\. Use --to with an ID/,
    ],
    ...['Reverted change 9', 'Reverted change 9: too short', 'Restored the rules of change 8'].map(
      (comment): [string, RulesChange[], undefined, RegExp] => [
        `the newest change if it is a revert (${comment})`,
        [change(10, ['loadByPeriod'], ['dropForever'], comment), ...changes],
        undefined,
        /^Failure: Change \[10\] is a revert, and undoing it would apply change \[9\] again\. To do that, use --to 9\./,
      ],
    ),
    ['an empty history', [], undefined, /have never been changed/],
    [
      'all changes, if the first one is an import',
      [change(3, ['dropForever'], ['loadForever']), imported],
      0,
      /Change \[2\] is the import of the rules of \[flights\], so there are no earlier rules to restore\. .* use --to 2$/,
    ],
    ['an import', [imported], undefined, /is the import .* no earlier rules to restore$/],
  ]
  for (const [name, given, to, message] of refused)
    test(`is refused for ${name}`, () => assert.throws(() => reversionOf('flights', given, to), message))

  test('of all changes since an import restores what was imported', () => {
    const since = [change(3, ['dropForever'], ['loadForever']), imported]
    const both = [undefined, 2].map((to) => reversionOf('flights', since, to).rules)
    assert.deepEqual(both, [list('loadForever'), list('loadForever')])
  })

  test('is previewed with what it marks as used', () => {
    const rules = list('loadByPeriod')
    const reversion = reversionOf('flights', changes, undefined)
    assert.deepEqual(reversionRequest('flights', reversion), { rules: { flights: rules }, markUsedSince: 9 })
    assert.deepEqual(reversionRequest('_default', reversion), {
      rules: {},
      defaultRules: rules,
      markUsedSince: 9,
    })
  })

  test('reports what it did, and what no longer exists', () => {
    const reversion = reversionOf('flights', changes, undefined)
    const start = 'Undid change [9] (2026-01-01T00:00:00.000Z) to the rules of [flights].'
    assert.equal(
      revertedText('flights', reversion, { marked: 1, killed: 0 }),
      `${start} Marked 1 segment as used.`,
    )
    assert.equal(
      revertedText('flights', reversion, { marked: 90, killed: 2 }),
      `${start} Marked 90 segments as used. 2 segments cannot be restored: kill tasks have deleted them.`,
    )
    const textOf = (to: number, list = changes) =>
      revertedText('flights', reversionOf('flights', list, to), { marked: 0, killed: 0 })
    assert.match(textOf(5), /^Restored the rules of \[flights\] to those of change \[5\] \(2026-/)
    assert.match(
      textOf(0, [change(4, ['dropForever'], [])]),
      /^Restored .* of \[flights\] to those before the first/,
    )
  })

  test('can reapply what a revert has undone, given its ID', () => {
    const undone = [change(10, ['loadByPeriod'], ['dropForever'], 'Reverted change 9'), ...changes]
    assert.deepEqual(reversionOf('flights', undone, 9).rules, list('dropForever'))
  })

  test('undoes a change to rules that were in force before', () => {
    const again = [change(10, ['loadByPeriod'], ['dropForever'], 'as before'), ...changes]
    assert.deepEqual(reversionOf('flights', again, undefined).rules, list('dropForever'))
  })

  test('says in its comment that it is one', () => {
    const commentOf = (to: number | undefined, comment?: string) =>
      reversionComment(reversionOf('flights', changes, to), comment)
    assert.equal(commentOf(undefined), 'Reverted change 9')
    assert.equal(commentOf(5, 'too short'), 'Restored the rules of change 5: too short')
  })
})
