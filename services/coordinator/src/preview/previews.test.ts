import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePreviewRequest } from '@svc/domain/preview'
import { readRulesPolicy } from '@svc/domain/rules-policy'
import { finish } from '@svc/domain/steps'
import { warningsOfPolicy } from './previews.ts'

test('a preview warns if the policy may forbid the change because of datasources that the caller may not read', () => {
  const none = { segments: 0, bytes: 0 }
  const summary = { used: none, effects: { unused: none }, datasources: {} }
  const defaultRules = [{ type: 'loadForever', tieredReplicants: { hot: 1 } }]
  const request = finish(parsePreviewRequest({ rules: {}, defaultRules }, 0))
  const typesFor = (policy: object, isPartial: boolean) =>
    warningsOfPolicy(readRulesPolicy(policy, ''), request, { summary, complete: undefined, isPartial }).map(
      ({ type }) => type,
    )
  assert.deepEqual(typesFor({ maxUnusedPercent: 0 }, true), ['policyNotChecked'])
  assert.deepEqual(typesFor({ maxUnusedPercent: 0 }, false), [])
  assert.deepEqual(typesFor({ minReplicas: 1 }, true), [])
  assert.deepEqual(typesFor({ minReplicas: 2 }, true), ['forbiddenByPolicy'])
})

test('a preview for a user who may make the change says that the policy forbids it because of hidden data', () => {
  const [none, lost] = [
    { segments: 0, bytes: 0 },
    { segments: 3, bytes: 1234 },
  ]
  const summary = { used: none, effects: { unused: none }, datasources: {} }
  const hidden = { used: lost, effects: { unused: lost, unqueryable: { queryableBefore: 0 } }, tiers: {} }
  const complete = { used: lost, effects: { unused: lost }, datasources: { secret: hidden } }
  const request = finish(parsePreviewRequest({ rules: {}, defaultRules: [{ type: 'dropForever' }] }, 0))
  for (const policy of [
    { maxUnusedBytes: 1000 },
    { maxTotalUnusedPercent: 50 },
    { protectedDatasources: ['secret'] },
  ])
    assert.deepEqual(
      warningsOfPolicy(readRulesPolicy(policy, ''), request, { summary, complete, isPartial: true }),
      [
        {
          type: 'forbiddenByPolicy',
          message:
            'The policy of the cluster forbids this change. With its effects on datasources that the user may not read, the change exceeds a limit of the policy',
        },
      ],
    )
  const allowing = readRulesPolicy({ maxUnusedBytes: 2000 }, '')
  assert.deepEqual(warningsOfPolicy(allowing, request, { summary, complete, isPartial: true }), [])
})
