import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restorableSentences } from './restorable-text.ts'

test('reports what is marked as used again, and what no longer exists', () => {
  assert.deepEqual(
    restorableSentences({ included: true, segments: 90, bytes: 900, killed: { segments: 1, bytes: 10 } }),
    [
      '90 unused segments (900 B) will be marked as used.',
      '1 segment (10 B) cannot be restored: kill tasks have deleted it.',
    ],
  )
  assert.deepEqual(
    restorableSentences({ included: false, segments: 90, bytes: 900, killed: { segments: 1, bytes: 10 } }),
    [],
  )
})
