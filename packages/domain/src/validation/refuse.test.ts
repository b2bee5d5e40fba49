import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { showValue } from './index.ts'

describe('showValue', () => {
  const shown: readonly unknown[] = [
    'text',
    '',
    17,
    null,
    true,
    [],
    {},
    [1, [null, 'a"b'], { c: {} }],
    { a: [1, 2], 'b"': { c: 'd' } },
    'x'.repeat(120),
    Array(39).fill(17),
  ]
  for (const value of shown) {
    it(`shows [${JSON.stringify(value).slice(0, 40)}] in full`, () => {
      assert.equal(showValue(value), typeof value === 'string' ? value : JSON.stringify(value))
    })
  }

  const long: readonly unknown[] = [
    'x'.repeat(121),
    Array(1000).fill('y'),
    { a: { b: 'z'.repeat(1000) } },
    Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`name${index}`, [index]])),
    { ['n'.repeat(500)]: 1 },
    [[['q'.repeat(115)]], 1, 2, 3],
  ]
  for (const [index, value] of long.entries()) {
    it(`cuts a long value (${index})`, () => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      assert.equal(showValue(value), `${text.slice(0, 120)}…`)
    })
  }

  it('takes time that does not grow with the size of the value', () => {
    let looks = 0
    const endless = new Proxy([], {
      get: (_list, name) => {
        looks++
        return name === 'length' ? 1_000_000 : 7
      },
    })
    showValue({ endless })
    assert.ok(looks < 200, String(looks))
  })
})
