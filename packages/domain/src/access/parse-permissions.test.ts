import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePermissions } from './index.ts'

const permissions = (count: number, name: string) =>
  Array.from({ length: count }, () => ({ resource: { type: 'DATASOURCE', name }, action: 'READ' }))

test('allows 10,000 long names per role, but only 80,000 characters of regular expressions', () => {
  const parse = (count: number, name: string) => parsePermissions(permissions(count, name), () => true)
  assert.equal(parse(10_000, 'x'.repeat(90)).length, 10_000)
  for (const [count, name] of [
    [80, `${'x'.repeat(989)}.`],
    // Compiling many short expressions takes long, too.
    [4000, '(a|b|c).*x'],
  ] as const) {
    assert.equal(parse(count, name).length, count)
    assert.throws(
      () => parse(count + 1, name),
      ({ message }: Error) =>
        message.includes(
          `for [permissions[${count}].resource.name]: expected regular expressions with at most 80000 characters in total across all permissions of a role, counting 10 extra characters per expression`,
        ),
    )
  }
})
