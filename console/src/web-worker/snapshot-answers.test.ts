import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inventoryOfSnapshot } from '@svc/domain/snapshot'
import { finish } from '@svc/domain/steps'
import { SnapshotAnswers } from './snapshot-answers.ts'

const loadForever = { type: 'loadForever', tieredReplicants: { hot: 1 } } as const

test('answers with the rules of any datasource, and an empty history of rule changes', () => {
  const answers = new SnapshotAnswers(
    finish(
      inventoryOfSnapshot({
        now: 0,
        servers: [],
        rules: new Map([
          ['_default', []],
          ['history', [loadForever as never]],
        ]),
        segments: [],
        placement: undefined,
      }),
    ),
  )
  const rules = '/svc/coordinator/v1/rules'
  const bodyOf = (path: string): unknown =>
    JSON.parse(answers.answer('GET', `${rules}${path}`).body as string)
  assert.deepEqual(bodyOf('/history?count=8'), [])
  assert.deepEqual(bodyOf('/wikipedia/history?count=20&full'), [])
  assert.deepEqual(bodyOf('/%68istory/history?count=1'), [])
  assert.equal((bodyOf('/%68istory') as object[]).length, 1)
})
