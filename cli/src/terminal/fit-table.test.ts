import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fittedTable, wrappedText } from './index.ts'

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

  test('of groups that is too wide has the name of each group in a line of its own', () => {
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

  test('without groups that is too wide has cells of several lines', () => {
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

  test('keeps a name that is longer than a line whole', () => {
    const name = 'x'.repeat(90)
    const lines = fittedTable({ header: ['datasource', 'segments'], rows: [[name, '1']] }, 80)
    assert.deepEqual(lines, ['datasource', '  segments', name, '  1'])
  })
})

test('a sentence is wrapped between words, and its other lines are indented', () => {
  assert.equal(wrappedText('svc: Warning: one two three', 18, '  '), 'svc: Warning: one\n  two three')
  assert.equal(wrappedText(`a ${'x'.repeat(20)} b`, 10), `a\n${'x'.repeat(20)}\nb`)
})
