import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isBalancedFilter } from './ldap-filter.ts'

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
