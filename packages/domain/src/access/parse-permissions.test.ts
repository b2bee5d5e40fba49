import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePermissions } from './index.ts'

const permissions = (count: number, name: string) =>
  Array.from({ length: count }, () => ({ resource: { type: 'DATASOURCE', name }, action: 'READ' }))

test('allows 10,000 long names per role, but only 100,000 characters of regular expressions', () => {
  assert.equal(parsePermissions(permissions(10_000, 'x'.repeat(90)), () => true).length, 10_000)
  assert.equal(parsePermissions(permissions(100, `${'x'.repeat(999)}.`), () => true).length, 100)
  assert.throws(() => parsePermissions(permissions(101, `${'x'.repeat(999)}.`), () => true), {
    message:
      /^Invalid value \[x+…\] for \[permissions\[100\]\.resource\.name\]: expected at most 100000 characters of regular expressions across all/,
  })
})
