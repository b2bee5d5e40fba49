import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { matchesWildcard } from './wildcard.ts'

describe('a file name pattern', () => {
  const cases: [pattern: string, text: string, expect: boolean][] = [
    ['*', '', true],
    ['*', 'a.csv', true],
    ['', '', true],
    ['', 'a', false],
    ['*.csv', 'a.csv', true],
    ['*.csv', '.csv', true],
    ['*.csv', 'a.csv.gz', false],
    ['*.CSV', 'a.csv', false],
    ['a?.csv', 'ab.csv', true],
    ['a?.csv', 'a.csv', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['a.csv', 'a-csv', false],
    ['[ab]*', '[ab]x', true],
    ['[ab]*', 'ax', false],
    ['**', 'x', true],
    ['a*?', 'a', false],
  ]
  for (const [pattern, text, expect] of cases) {
    it(`[${pattern}] ${expect ? 'matches' : 'does not match'} [${text}]`, () => {
      assert.equal(matchesWildcard(pattern, text), expect)
    })
  }

  it('matches the same texts as the equivalent regular expression', () => {
    const letters = fc.array(fc.constantFrom('a', 'b', '*', '?'), { maxLength: 8 }).map((all) => all.join(''))
    const texts = fc.array(fc.constantFrom('a', 'b'), { maxLength: 10 }).map((all) => all.join(''))
    fc.assert(
      fc.property(letters, texts, (pattern, text) => {
        const meaning = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`)
        assert.equal(matchesWildcard(pattern, text), meaning.test(text))
      }),
    )
  })

  it('never takes exponential time', () => {
    const startedAt = process.threadCpuUsage()
    assert.equal(matchesWildcard('*a'.repeat(100), 'a'.repeat(99)), false)
    assert.equal(matchesWildcard(`${'*a'.repeat(50)}b`, 'a'.repeat(5000)), false)
    // CPU time, because other programs may use the processors as well.
    assert.ok(process.threadCpuUsage(startedAt).user < 1_000_000)
  })
})
