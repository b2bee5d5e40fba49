import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxWarnings } from '@svc/domain/preview'
import { warningsHeader } from './warnings-header.ts'

test('the warnings header does not claim an exact count when warnings were cut off', () => {
  const warnings = Array.from({ length: maxWarnings }, () => ({ type: 'x', message: 'y' }))
  const { count, isAtLeast } = JSON.parse(warningsHeader(warnings))
  assert.deepEqual([count, isAtLeast], [maxWarnings, true])
  const fewer = JSON.parse(warningsHeader(warnings.slice(1)))
  assert.deepEqual([fewer.count, 'isAtLeast' in fewer], [maxWarnings - 1, false])
})
