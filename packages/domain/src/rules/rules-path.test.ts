import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rulesPathOf } from './index.ts'

test('the path of the rules of a datasource is not that of another endpoint', () => {
  const last = (name: string) => new URL(rulesPathOf(name), 'http://x').pathname.split('/').at(-1)!
  for (const name of ['history', 'simulate', 'revert', '_default', 'a/b', 'ü']) {
    assert.notEqual(last(name), 'history')
    assert.equal(decodeURIComponent(last(name)), name)
  }
})
