import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outputDifference, refreshedOutput } from './compare-output.ts'

describe('outputDifference', () => {
  const equal: readonly (readonly [string, string, string])[] = [
    ['durations', 'Ready in 5.1 s', 'Ready in 12 s'],
    ['run times', 'at 2026-11-22T18:24:09.429Z', 'at 2027-01-02T00:00:00.001Z'],
    [
      'task ids',
      'Task index_flights_abcdefgh_2026-11-22T18:24:09.429Z',
      'Task index_flights_hgfedcba_2026-11-22T18:24:09.000Z',
    ],
    ['IDs of plans', 'plan [cb4b295906cc186b]', 'plan [0123456789abcdef]'],
    ['process ids', 'ldap://127.0.0.1:10389  123  ready', 'ldap://127.0.0.1:10389  45678  ready'],
    ['passwords', 'TsBStWyJlfxrhh4nEJdXp_a7fsUKkO82', 'xxBStWyJlfxrhh4nEJdXp_a7fsUKkO82'],
    [
      'the size of the data of the demo',
      'still contains 90 files (300.2 kB).',
      'still contains 90 files (300.0 kB).',
    ],
    ['column widths', 'a    b\n──────', 'a b\n───'],
    ['lines in place of a gap', 'first\n...\nlast', 'first\n1\n2\nlast'],
    ['no lines in place of a gap', '...\nlast\n...', 'last'],
    ['lines between two gaps', '...\nb\nc\n...', 'a\nb\nb\nc\nd'],
  ]
  for (const [name, shown, actual] of equal)
    test(`ignores ${name}`, () => assert.equal(outputDifference(shown, actual), undefined))

  const different: readonly (readonly [string, string, string, string])[] = [
    ['a different number', '90 segments', '91 segments', '+ 91 segments\n- 90 segments'],
    [
      'a different size',
      '90 segments (300.2 kB)',
      '90 segments (300.3 kB)',
      '+ 90 segments (300.3 kB)\n- 90 segments (300.2 kB)',
    ],
    [
      'a duration of another magnitude',
      'Ready in 5.1 s (1 row, 0.1 s)',
      'Ready in 512.3 s (1 row, 0.2 s)',
      '+ Ready in 512.3 s (1 row, 0.2 s)\n- Ready in 5.1 s (1 row, 0.1 s)',
    ],
    ['another unit', 'took 5 s', 'took 5 ms', '+ took 5 ms\n- took 5 s'],
    ['a missing line', 'a\nb', 'a', '  a\n- b'],
    ['an extra line', 'a', 'a\nb', '  a\n+ b'],
    [
      'a time in the data',
      'from 2001-01-01T00:00:00.000Z',
      'from 2001-01-02T00:00:00.000Z',
      '+ from 2001-01-02T00:00:00.000Z\n- from 2001-01-01T00:00:00.000Z',
    ],
    ['a wrong order around a gap', 'b\n...\na', 'a\nb', '+ a\n  b\n- ...\n- a'],
    ['one line that both sides of a gap would need', 'a\n...\na', 'a', '  a\n- ...\n- a'],
    ['a missing line between two gaps', '...\nb\n...', 'a\nc', '+ a\n+ c\n- ...\n- b\n- ...'],
  ]
  for (const [name, shown, actual, difference] of different)
    test(`shows ${name}`, () => assert.equal(outputDifference(shown, actual), difference))
})

describe('refreshedOutput', () => {
  test('keeps shown output that still matches', () => {
    assert.equal(refreshedOutput('...\nReady in 5.1 s', 'start\nReady in 9 s\n'), '...\nReady in 5.1 s')
  })
  test('takes the actual output where it differs', () => {
    assert.equal(refreshedOutput('old', 'new\nlines\n'), 'new\nlines')
  })
  test('keeps the number of lines around the gaps', () => {
    assert.equal(refreshedOutput('a\n...\ny\nz', '1\n2\n3\n4\n5\n'), '1\n...\n4\n5')
  })
})
