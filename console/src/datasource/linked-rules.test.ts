import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rulesInLink } from './linked-rules.ts'

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test('reads the rules of a link, even if their values are invalid', () => {
  const rules = [{ type: 'loadByPeriod', period: 'P9X' }, { type: 'dropForever' }]
  assert.deepEqual(rulesInLink(encoded(rules)), { rules })
})

for (const [name, text, problem] of [
  ['no base64', '%%%', /does not contain valid rules/],
  ['no JSON', Buffer.from('[').toString('base64url'), /does not contain valid rules/],
  ['no list', encoded({ type: 'dropForever' }), /does not contain valid rules/],
  ['a rule without type', encoded([{}]), /does not contain valid rules/],
  ['null', encoded([null]), /does not contain valid rules/],
  ['an unknown type', encoded([{ type: 'loadSometimes' }]), /a rule of the unknown type \[loadSometimes\]/],
] as const)
  test(`refuses a link with ${name}`, () => {
    const found = rulesInLink(text)
    assert.ok('problem' in found)
    assert.match(found.problem, problem)
  })
