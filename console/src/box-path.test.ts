import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boxPath } from './box-path.ts'

test('rounds the corners of a box, as far as it is large enough', () => {
  assert.equal(
    boxPath(10, 20, 8, 6),
    'M12 20h4a2 2 0 0 1 2 2v2a2 2 0 0 1 -2 2h-4a2 2 0 0 1 -2 -2v-2a2 2 0 0 1 2 -2z',
  )
  assert.equal(
    boxPath(0, 0, 8, 1),
    'M0.5 0h7a0.5 0.5 0 0 1 0.5 0.5v0a0.5 0.5 0 0 1 -0.5 0.5h-7a0.5 0.5 0 0 1 -0.5 -0.5v0a0.5 0.5 0 0 1 0.5 -0.5z',
  )
})
