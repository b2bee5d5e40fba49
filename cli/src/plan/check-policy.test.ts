import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RulesPolicy, readRulesPolicy } from '@svc/domain/rules-policy'
import type { AnsweredPreview } from '../preview/index.ts'
import { violationsOf } from './index.ts'

test('a policy that limits losses forbids a change that may affect datasources that the user may not read', () => {
  const none = { segments: 0, bytes: 0 }
  const violations = (policy: object, ...types: string[]) =>
    violationsOf(readRulesPolicy(policy, '') as RulesPolicy, [], {
      summary: { used: none, effects: { unused: none }, datasources: {} },
      warnings: types.map((type) => ({ type, message: '' })),
    } as unknown as AnsweredPreview)
  const limits = [{ maxUnusedPercent: 0 }, { maxTotalUnusedBytes: 0 }, { protectedTiers: ['hot'] }]
  for (const policy of limits) {
    assert.deepEqual(violations(policy), [])
    assert.deepEqual(violations(policy, 'incompleteSpace'), [])
    assert.deepEqual(violations(policy, 'incompletePreview'), [
      'The preview leaves out datasources that this user may not read, so the policy cannot be checked for them',
    ])
  }
  assert.deepEqual(violations({ minReplicas: 2, requireIncludeFuture: true }, 'incompletePreview'), [])
})
