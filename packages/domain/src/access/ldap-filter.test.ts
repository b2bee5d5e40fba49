import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fillFilter, filterFormatProblem, hasPlaceholder, isBalancedFilter } from './ldap-filter.ts'

describe('the parentheses of a filter', () => {
  for (const [filter, expected] of [
    ['(uid=%s)', true],
    ['(&(uid=%s)(|(a=1)(b=2)))', true],
    ['(cn=\\28x\\29)', true],
    ['(&(uid=%s)(objectClass=person)', false],
    ['(uid=%s))', false],
    [')uid=%s(', false],
  ] as const)
    it(`of ${filter} are ${expected ? '' : 'not '}balanced`, () =>
      assert.equal(isBalancedFilter(filter), expected))
})

describe('the placeholders of a filter', () => {
  for (const [filter, expected] of [
    ['(uid=%s)', '(uid=ann)'],
    ['(|(uid=%s)(mail=%s))', '(|(uid=ann)(mail=ann))'],
    ['(|(uid=%1$s)(mail=%<s))', '(|(uid=ann)(mail=ann))'],
    ['(&(uid=%s)(dept=50%%))', '(&(uid=ann)(dept=50%))'],
    ['(uid=%%s)', '(uid=%s)'],
    ['(&(uid=%s)(dept=50%))', '(&(uid=ann)(dept=50%))'],
  ] as const)
    it(`of ${filter} are replaced`, () => assert.equal(fillFilter(filter, 'ann'), expected))

  it('are used as they are, even if the value looks like a placeholder', () => {
    assert.equal(fillFilter('(uid=%s)', '%s$&'), '(uid=%s$&)')
  })

  it('exist only in a filter that depends on the value', () => {
    assert.equal(hasPlaceholder('(uid=%1$s)'), true)
    assert.equal(hasPlaceholder('(uid=%%s)'), false)
  })
})

describe('the format of a filter in Java', () => {
  for (const filter of [
    '(uid=%s)',
    '(|(uid=%1$s)(mail=%1$s))',
    '(|(uid=%s)(mail=%<s))',
    '(&(uid=%s)(a=5%%))',
  ])
    it(`of ${filter} is valid`, () => assert.equal(filterFormatProblem(filter), undefined))
  for (const [filter, expected] of [
    ['(|(uid=%s)(mail=%s))', /contains 2 placeholders/],
    ['(&(uid=%s)(a=5%))', /contains \[%\)\]/],
    ['(&(uid=%s)(a=%2$s))', /contains \[%2\$s\], but/],
    ['(uid=%d)', /contains \[%d\]/],
  ] as const)
    it(`of ${filter} is invalid`, () => assert.match(filterFormatProblem(filter) ?? '', expected))
})
