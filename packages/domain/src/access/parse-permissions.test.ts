import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePermissions } from './index.ts'

const permissions = (count: number, name: string) =>
  Array.from({ length: count }, () => ({ resource: { type: 'DATASOURCE', name }, action: 'READ' }))

test('allows 10,000 long names per role, but only 20,000 steps of regular expressions', () => {
  const parse = (count: number, name: string, steps = name.length) =>
    parsePermissions(permissions(count, name), () => steps)
  assert.equal(parse(10_000, 'x'.repeat(90)).length, 10_000)
  for (const [count, name, steps] of [
    [20, `${'x'.repeat(989)}.`, undefined],
    // Compiling many short expressions takes long, too.
    [1000, '(a|b|c).*x', undefined],
    // Repetitions are expanded.
    [25, '.{0,500}', 790],
  ] as const) {
    assert.equal(parse(count, name, steps).length, count)
    assert.throws(
      () => parse(count + 1, name, steps),
      ({ message }: Error) =>
        message.includes(
          `for [permissions[${count}].resource.name]: expected regular expressions of at most 20000 characters per role in total, counted after repetitions are expanded, plus 10 characters for each expression`,
        ),
    )
  }
})
