import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compileNamePattern, isNamePattern } from './name-pattern.ts'

describe('a pattern', () => {
  const rows: readonly [pattern: string, matching: string[], others: string[]][] = [
    ['.*', ['', 'wiki', 'a\nb', '__proto__'], []],
    ['wiki', ['wiki'], ['wikipedia', 'my wiki', 'Wiki', 'wiki ', 'wiki\n', '']],
    ['wiki.*', ['wiki', 'wikipedia', 'wiki\npedia'], ['my wiki', 'wik']],
    ['.*wiki', ['my wiki', 'wiki'], ['wikis']],
    ['a|b', ['a', 'b'], ['ab', 'ax', 'xb']],
    ['^wiki$', ['wiki'], ['wiki\n', 'a\nwiki']],
    ['(?i)wiki', ['WIKI', 'wiki'], ['wikis']],
    ['a.c', ['abc', 'a\nc', 'aüc'], ['ac', 'abbc']],
    ['a\\.c', ['a.c'], ['abc']],
    ['', [''], ['a']],
    ['[a-c]{2}', ['ab', 'cc'], ['a', 'abc', 'ad']],
    ['ü+', ['ü', 'üü'], ['u']],
  ]
  for (const [pattern, matching, others] of rows) {
    it(`[${pattern}] matches whole names`, () => {
      const matches = compileNamePattern(pattern)
      for (const name of matching) assert.equal(matches(name), true, JSON.stringify(name))
      for (const name of others) assert.equal(matches(name), false, JSON.stringify(name))
    })
  }

  for (const pattern of [
    '(',
    '[a',
    'a**',
    '*',
    '(?<n',
    '\\',
    '(?=a)',
    '\\1(a)',
    'a{2,1}',
    `${'a'.repeat(1024)}.`,
  ]) {
    it(`[${pattern.slice(0, 20)}] that is none matches nothing`, () => {
      const matches = compileNamePattern(pattern)
      for (const name of ['', 'a', 'aa', '(', pattern]) assert.equal(matches(name), false)
    })
  }

  it('is known for one before it is stored', () => {
    for (const [pattern] of rows) assert.equal(isNamePattern(pattern), true)
    for (const pattern of ['(', '[a', '*', '(?=a)', '\\']) assert.equal(isNamePattern(pattern), false)
  })

  it('cannot be made to take long', () => {
    const catastrophic = [
      '(a+)+',
      '(a*)*',
      '(a|a)*',
      '(a|aa)+',
      '(.*a){20}',
      '(a?){30}a{30}',
      '([a-z]+)*',
      '(a+){10}',
      '(a+a+)+b',
      '((a+)+)+',
      '(x+x+)+y',
      '(.*)*',
      '(.+)+b',
      '.*.*.*.*.*b',
      'a*a*a*a*a*a*b',
      '(\\w+\\s?)*',
      '(a|b|ab)*c',
      '([a-zA-Z0-9])+([-_.]?[a-zA-Z0-9])*b',
      '(a{1,30}){1,30}b',
      '(?:a|(?:a|(?:a|a)))*b',
    ]
    const names = ['a'.repeat(60), `${'a'.repeat(60)}!`]
    compileNamePattern('warm.+up')('warming up')
    const startedAt = performance.now()
    for (const pattern of catastrophic) {
      const matches = compileNamePattern(pattern)
      for (const name of names) matches(name)
    }
    assert.ok(performance.now() - startedAt < 50 * machineFactor, `${performance.now() - startedAt} ms`)
  })
})

/** How much slower than an idle machine this one is at the moment, by a fixed piece of work of about 10 ms. */
const machineFactor = (() => {
  const startedAt = performance.now()
  let sum = 0
  for (let i = 0; i < 1e7; i++) sum = (sum + i * i) % 1000003
  assert.notEqual(sum, -1)
  return Math.max(1, (performance.now() - startedAt) / 40)
})()
