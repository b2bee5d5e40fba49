import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { catastrophicExpressions, namesOfAttack } from '../testing/index.ts'
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
    it(`[${pattern}] matches entire names`, () => {
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
    it(`[${pattern.slice(0, 20)}] is invalid and matches nothing`, () => {
      const matches = compileNamePattern(pattern)
      for (const name of ['', 'a', 'aa', '(', pattern]) assert.equal(matches(name), false)
    })
  }

  it('may be as long with its repetitions expanded as without any', () => {
    for (const pattern of ['a'.repeat(1024), '(ab|cd)'.repeat(146), '[^_]*'.repeat(204), 'a{1000}'])
      assert.equal(isNamePattern(pattern), true, pattern)
    for (const pattern of ['(a{100}){13}', '(ab{0,400}){3}']) {
      assert.equal(isNamePattern(pattern), false)
      assert.equal(compileNamePattern(pattern)('a'), false)
    }
  })

  it('is validated before it is stored', () => {
    for (const [pattern] of rows) assert.equal(isNamePattern(pattern), true)
    for (const pattern of ['(', '[a', '*', '(?=a)', '\\']) assert.equal(isNamePattern(pattern), false)
  })

  it('is tested with at least 50 expressions that make other engines backtrack forever', () => {
    assert.ok(catastrophicExpressions.length >= 50)
    assert.equal(new Set(catastrophicExpressions).size, catastrophicExpressions.length)
    // The others are evaluated below.
    const tooLong = ['(a{1,30}){1,30}b', '(.{0,99}){0,10}b', '(a{0,50}){0,20}b']
    assert.deepEqual(
      catastrophicExpressions.filter((pattern) => !isNamePattern(pattern)).sort(),
      tooLong.sort(),
    )
  })

  for (const pattern of catastrophicExpressions) {
    it(`[${pattern}] takes linear time`, () => {
      // Processor time, because other programs may use the processors as well.
      const startedAt = process.threadCpuUsage()
      const matches = compileNamePattern(pattern)
      for (const name of namesOfAttack) matches(name)
      const tookMs = process.threadCpuUsage(startedAt).user / 1000
      assert.ok(tookMs < 100 * machineFactor, `${tookMs} ms`)
    })
  }
})

/** Returns how much slower this machine is than usual, based on a fixed amount of work of about 10 ms. */
const machineFactor = (() => {
  const startedAt = process.threadCpuUsage()
  let sum = 0
  for (let i = 0; i < 1e7; i++) sum = (sum + i * i) % 1000003
  assert.notEqual(sum, -1)
  return Math.max(1, process.threadCpuUsage(startedAt).user / 40_000)
})()
