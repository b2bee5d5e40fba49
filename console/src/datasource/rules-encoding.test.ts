import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import type { RuleJson } from '@svc/domain/rules'
import { encodedRules, rulesInLink, shortEncodedRules } from './rules-encoding.ts'

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const compressed = (text: string): string => `~${deflateRawSync(text).toString('base64url')}`

test('reads the rules of a link, even if their values are invalid', async () => {
  const rules = [{ type: 'loadByPeriod', period: 'P9X' }, { type: 'dropForever' }]
  assert.deepEqual(await rulesInLink(encoded(rules)), { rules })
  assert.equal(encodedRules(rules), encoded(rules))
})

test('compresses the rules of a copied link only if there are many', async () => {
  const few: RuleJson[] = [{ type: 'loadForever', tieredReplicants: { größe: 2 } }]
  assert.equal(await shortEncodedRules(few), encodedRules(few))
  const many: RuleJson[] = Array.from({ length: 10_000 }, (_, index) => ({
    type: 'loadByPeriod',
    period: `P${index + 1}D`,
    tieredReplicants: { größe: 1 + (index % 3) },
  }))
  const short = await shortEncodedRules(many)
  assert.ok(short.length < 100_000, `${short.length} characters`)
  assert.match(short, /^~[\w-]+$/)
  assert.deepEqual(await rulesInLink(short), { rules: many })
})

for (const [name, text, problem] of [
  ['no base64', '%%%', /does not contain valid rules/],
  ['no JSON', Buffer.from('[').toString('base64url'), /does not contain valid rules/],
  ['no list', encoded({ type: 'dropForever' }), /does not contain valid rules/],
  ['a rule without type', encoded([{}]), /does not contain valid rules/],
  ['null', encoded([null]), /does not contain valid rules/],
  ['an unknown type', encoded([{ type: 'loadSometimes' }]), /a rule of the unknown type \[loadSometimes\]/],
  ['damaged compressed rules', compressed('[]').slice(0, -2), /does not contain valid rules/],
  ['an empty compressed part', '~', /does not contain valid rules/],
  ['more than 16 MiB', compressed(`[${' '.repeat(17 * 1024 * 1024)}]`), /does not contain valid rules/],
] as const)
  test(`refuses a link with ${name}`, async () => {
    const found = await rulesInLink(text)
    assert.ok('problem' in found)
    assert.match(found.problem, problem)
  })
