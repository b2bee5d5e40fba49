import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOfEdit, rulesInPlan } from './plan-file.ts'

const textOfPlan = async (after: readonly object[]): Promise<string> =>
  JSON.stringify(
    await planOfEdit({
      cluster: 'https://router.example:9088',
      clusterId: 'test',
      createdAt: '2026-01-01T00:00:00.000Z',
      note: { author: '', comment: '' },
      dataSource: 'wikipedia',
      before: [],
      after,
      loss: { unqueryable: 0, unqueryableBytes: 0, unused: 0, unusedBytes: 0 },
      stored: {},
    }),
  )

test('reads the rules of a plan', async () => {
  const rules = [{ type: 'loadForever' }]
  const { changes } = await rulesInPlan(await textOfPlan(rules))
  assert.deepEqual(changes.get('wikipedia')?.after, rules)
})

for (const broken of [[null], [{}], [['loadForever']], ['loadForever'], 'loadForever', 7])
  test(`refuses a plan with ${JSON.stringify(broken)} instead of rules`, async () => {
    const text = await textOfPlan(broken as never)
    await assert.rejects(rulesInPlan(text), /is not a plan/)
  })
