import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { safeFileName } from './safe-file-name.ts'

describe('a safe file name', () => {
  const cases: [given: string, expect: string][] = [
    ['wikipedia', 'wikipedia'],
    ['a b', 'a%20b'],
    ['a/b', 'a%2Fb'],
    ['..', '%2E.'],
    ['.', '%2E'],
    ['.hidden', '%2Ehidden'],
    ['a..b', 'a..b'],
    ['%2F', '%252F'],
    ['Größe', 'Gr%C3%B6%C3%9Fe'],
    ['a\0b\n', 'a%00b%0A'],
    ['flights_2001-01-01T00:00:00.000Z_1', 'flights_2001-01-01T00:00:00.000Z_1'],
    ['x'.repeat(200), 'x'.repeat(200)],
    ['', '%~e3b0c44298fc1c149afbf4c8996fb924'],
  ]
  for (const [given, expect] of cases) {
    it(JSON.stringify(given.slice(0, 40)), () => assert.equal(safeFileName(given), expect))
  }

  it('is short, plain, and unique per text', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme', minLength: 60, maxLength: 400 }),
      fc.string({ unit: fc.constantFrom('.', '/', '%', 'a', '~', '2', 'F'), maxLength: 8 }),
      fc
        .tuple(fc.constantFrom('x', 'ä', '%~'), fc.integer({ min: 90, max: 400 }))
        .map(([text, times]) => text.repeat(times)),
    )
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        const [first, second] = [safeFileName(a), safeFileName(b)]
        assert.match(first, /^[\w:%-][\w:%.~-]*$/)
        assert.ok(first.length <= 200)
        assert.equal(first === second, a === b)
      }),
      { numRuns: 1000 },
    )
  })
})
