import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isComposeNewEnough } from './check-engine.ts'

const versions: { version: string; expect: boolean }[] = [
  { version: '2.20.0', expect: true },
  { version: 'v2.26.1', expect: true },
  { version: '2.26.1-4', expect: true },
  { version: '5.0.0', expect: true },
  { version: '2.19.1', expect: false },
  { version: '2.3', expect: false },
  { version: '1.29.2', expect: false },
  { version: '', expect: false },
]
for (const { version, expect } of versions) {
  test(`Docker Compose [${version}] is ${expect ? '' : 'not '}new enough`, () => {
    assert.equal(isComposeNewEnough(version), expect)
  })
}
