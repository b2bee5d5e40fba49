import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Allowances, lowerAllowances, overAllowance } from './allowances.ts'

const cases: readonly [name: string, counts: Allowances, allowances: Allowances, over: readonly string[]][] =
  [
    ['the allowed number passes', { a: 2 }, { a: 2 }, []],
    ['fewer pass', { a: 1 }, { a: 2 }, []],
    ['more fail', { a: 3 }, { a: 2 }, ['a']],
    ['a new file fails', { a: 2, b: 1 }, { a: 2 }, ['b']],
    ['a clean file gives nothing to a new one', { a: 0, b: 1 }, { a: 2 }, ['b']],
    ['a moved file passes', { b: 2 }, { a: 2 }, []],
    ['a file that was split passes', { b: 1, c: 1 }, { a: 2 }, []],
    ['a moved file with more fails', { b: 3 }, { a: 2 }, ['b']],
    ['two new files share what a removed file had', { b: 2, c: 1 }, { a: 2 }, ['c']],
  ]
describe('allowances', () => {
  for (const [name, counts, allowances, over] of cases) {
    test(name, () => {
      assert.deepEqual(
        overAllowance(counts, allowances).map(({ file }) => file),
        over,
      )
    })
  }

  test('are lowered to the counts, without files that have none', () => {
    assert.deepEqual(lowerAllowances({ a: 1, b: 0 }, { a: 2, b: 3, c: 1 }), { a: 1 })
  })

  test('are never raised', () => {
    assert.throws(() => lowerAllowances({ a: 3 }, { a: 2 }), {
      message: 'File [a] has [3] phrases to replace: expected at most [2]',
    })
  })
})
