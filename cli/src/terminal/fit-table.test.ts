import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { fittedTable, formatTable, wrappedText } from './index.ts'

const effects = {
  header: ['datasource', 'effect', 'segments', 'data', 'none'],
  rows: [
    ['flights', 'unqueryable', '31', '2001-01-01/2001-02-01', ''],
    ['flights', 'dropped', '59', '2001-01-01/2001-03-01', ''],
    ['wiki', 'dropped', '1', '2001-01-01/2001-03-01', ''],
  ],
}

describe('a table', () => {
  test('with enough space has one line per row, without empty columns', () => {
    assert.deepEqual(fittedTable(effects, 80), [
      'datasource  effect       segments  data',
      'flights     unqueryable  31        2001-01-01/2001-02-01',
      'flights     dropped      59        2001-01-01/2001-03-01',
      'wiki        dropped      1         2001-01-01/2001-03-01',
    ])
  })

  test('with groups that is too wide has the name of each group on its own line', () => {
    assert.deepEqual(fittedTable(effects, 50), [
      'datasource',
      '  effect       segments  data',
      'flights',
      '  unqueryable  31        2001-01-01/2001-02-01',
      '  dropped      59        2001-01-01/2001-03-01',
      'wiki',
      '  dropped      1         2001-01-01/2001-03-01',
    ])
  })

  test('without groups that is too wide has cells that take several lines', () => {
    const tiers = {
      header: ['tier', 'bytes before', 'does not fit'],
      rows: [
        ['hot', '300.2 kB', '90 (300.2 kB)'],
        ['cold', '1 B', ''],
      ],
    }
    assert.deepEqual(fittedTable(tiers, 27), [
      'tier  bytes     does not',
      '      before    fit',
      'hot   300.2 kB  90',
      '                (300.2 kB)',
      'cold  1 B',
    ])
  })

  for (const columns of [20, 30, 40, 50, 60, 70, 80])
    test(`fits into ${columns} columns`, () => {
      for (const line of fittedTable(effects, columns)) assert.ok(line.length <= Math.max(columns, 28), line)
    })

  test('says which tier a row is about, even if the row before has the same tier of another datasource', () => {
    const [long, tier] = ['a-long-datasource-name', 'a-tier-with-a-long-name']
    const table = {
      header: ['datasource', 'tier', 'replicas'],
      rows: [
        [long, tier, '100 (1.0 GB)'],
        ['wiki', tier, '200 (2.0 GB)'],
        ['wiki', 'hot', '300 (3.0 GB)'],
      ],
    }
    assert.deepEqual(fittedTable(table, 28), [
      'datasource',
      '  tier',
      '    replicas',
      long,
      `  ${tier}`,
      '    100 (1.0 GB)',
      'wiki',
      `  ${tier}`,
      '    200 (2.0 GB)',
      '  hot',
      '    300 (3.0 GB)',
    ])
  })

  test('does not break a name that is longer than a line', () => {
    const name = 'x'.repeat(90)
    const lines = fittedTable({ header: ['datasource', 'segments'], rows: [[name, '1']] }, 80)
    assert.deepEqual(lines, ['datasource', '  segments', name, '  1'])
  })

  test('escapes control characters, also those that would break lines', () => {
    const table = { header: ['datasource'], rows: [['a\u001b[2J'], ['b\n\u009bc']] }
    for (const columns of [80, Number.POSITIVE_INFINITY])
      assert.deepEqual(fittedTable(table, columns).slice(1), ['a\\u001b[2J', 'b\\u000a\\u009bc'])
  })

  test('breaks long names where possible if it has to fit', () => {
    const table = {
      header: ['week of', 'datasource', 'changes'],
      rows: [['2026-11-23', 'web_events', 'a_very_long_name_of_a_tier_for_old_data -5, cold +5']],
    }
    assert.deepEqual(fittedTable(table, 42, { breaksNames: true }), [
      'week of',
      '  datasource  changes',
      '2026-11-23',
      '  web_events  a_very_long_name_of_a_tier_',
      '              for_old_data -5, cold +5',
    ])
    const line = { header: ['name'], rows: [['x'.repeat(50)]] }
    assert.deepEqual(fittedTable(line, 30, { breaksNames: true }), ['name', 'x'.repeat(30), 'x'.repeat(20)])
  })

  for (const columns of [24, 40, 60, 80])
    test(`whose names may be broken always fits into ${columns} columns`, () => {
      const names = fc.array(fc.stringMatching(/^[a-z0-9_.-]{1,60}$/), { minLength: 5, maxLength: 5 })
      fc.assert(
        fc.property(fc.array(names, { minLength: 1, maxLength: 6 }), (rows) => {
          const header = ['a', 'b', 'c', 'd', 'e']
          const lines = fittedTable({ header, rows }, columns, { breaksNames: true })
          for (const line of lines) assert.ok(line.length <= columns, line)
        }),
      )
    })

  test('has one line per row if the output is not a terminal', () => {
    const rows = [['x'.repeat(90), 'y'.repeat(90)]]
    assert.equal(formatTable(['a', 'b'], rows, {}).split('\n').length, 2)
    for (const line of formatTable(['a', 'b'], rows, { isTTY: true, columns: 60 }).split('\n'))
      assert.ok(line.length <= 60)
  })
})

test('a sentence is wrapped between words, and its other lines are indented', () => {
  assert.equal(wrappedText('svc: Warning: one two three', 18, '  '), 'svc: Warning: one\n  two three')
  assert.equal(wrappedText('  one two three', 9, '  '), '  one two\n    three')
  assert.equal(wrappedText('', 9), '')
  assert.equal(wrappedText(`a ${'x'.repeat(20)} b`, 10), `a\n${'x'.repeat(20)}\nb`)
})
