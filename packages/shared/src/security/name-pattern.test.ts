import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { catastrophicExpressions, namesOfAttack } from '../testing/index.ts'
import { compileNamePattern, countNamePatternSteps } from './name-pattern.ts'

describe('a pattern', () => {
  const rows: readonly [pattern: string, matching: string[], others: string[]][] = [
    ['.*', ['', 'wiki', 'a\nb', '__proto__'], []],
    ['wiki', ['wiki'], ['wikipedia', 'my wiki', 'Wiki', 'wiki ', 'wiki\n', '']],
    ['wiki.*', ['wiki', 'wikipedia', 'wiki\npedia'], ['my wiki', 'wik']],
    ['.*wiki', ['my wiki', 'wiki', 'wiki\nwiki'], ['wikis', 'wiki\n']],
    ['.*wiki.*', ['my wiki', 'wikis', '\nwiki\n'], ['wik', 'Wiki']],
    ['.*wiki.', ['wikis', 'my wiki\n'], ['wiki']],
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
      assert.ok(countNamePatternSteps(pattern) !== undefined, pattern)
    for (const pattern of ['(a{100}){13}', '(ab{0,400}){3}']) {
      assert.equal(countNamePatternSteps(pattern), undefined)
      assert.equal(compileNamePattern(pattern)('a'), false)
    }
  })

  it('has as many steps as characters after its repetitions are expanded', () => {
    for (const [pattern, least, most] of [
      ['wiki', 1, 1],
      ['wiki.*', 6, 12],
      ['.{0,255}', 255, 600],
      ['(.?){200}', 200, 900],
    ] as const) {
      const steps = countNamePatternSteps(pattern) ?? 0
      assert.ok(steps >= least && steps <= most, `${pattern}: ${steps}`)
    }
  })

  it('does not match names that are longer than any resource', () => {
    for (const pattern of ['a+', 'a.*', '.*a', '.*a.*']) {
      const matches = compileNamePattern(pattern)
      assert.deepEqual([matches('a'.repeat(255)), matches('a'.repeat(256))], [true, false], pattern)
    }
  })

  it('is validated before it is stored', () => {
    for (const [pattern] of rows) assert.ok(countNamePatternSteps(pattern) !== undefined)
    for (const pattern of ['(', '[a', '*', '(?=a)', '\\'])
      assert.equal(countNamePatternSteps(pattern), undefined)
  })

  it('is tested with at least 50 expressions that make other engines backtrack forever', () => {
    assert.ok(catastrophicExpressions.length >= 50)
    assert.equal(new Set(catastrophicExpressions).size, catastrophicExpressions.length)
    // The others are evaluated below.
    const tooLong = ['(a{1,30}){1,30}b', '(.{0,99}){0,10}b', '(a{0,50}){0,20}b']
    assert.deepEqual(
      catastrophicExpressions.filter((pattern) => countNamePatternSteps(pattern) === undefined).sort(),
      tooLong.sort(),
    )
  })

  for (const pattern of catastrophicExpressions) {
    it(`[${pattern}] takes linear time`, () => {
      // CPU time, because other programs may use the processors as well.
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
