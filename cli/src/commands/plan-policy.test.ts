import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readRulesPolicy } from '@svc/domain/rules-policy'
import { Command } from 'commander'
import type { AnsweredPreview } from '../preview/index.ts'
import { configuredCluster } from '../testing/index.ts'
import { addApply } from './apply.ts'
import { addPlan } from './plan.ts'
import { policyNotice, policyWarnings } from './plan-policy.ts'

describe('a notice that a policy does not limit later losses', () => {
  const previewWith = (laterLosses: object | undefined) =>
    ({ summary: { laterLosses } }) as unknown as Pick<AnsweredPreview, 'summary'>
  const loss = { unused: { from: '2026-11-29T00:00:00.000Z', segments: 1, bytes: 1 } }
  const rows: [name: string, file: string | undefined, laterLosses: object | undefined, isShown: boolean][] =
    [
      ['with a policy and a later loss', 'policy.yaml', loss, true],
      ['not without a policy', undefined, loss, false],
      ['not without a later loss', 'policy.yaml', {}, false],
      ['not without a horizon', 'policy.yaml', undefined, false],
    ]
  for (const [name, file, laterLosses, isShown] of rows)
    test(name, () => assert.equal(policyNotice(file, previewWith(laterLosses)) !== undefined, isShown))

  test('not if no rules change', () => assert.equal(policyNotice('policy.yaml', undefined), undefined))
})

describe('a policy that names what the cluster does not have', () => {
  const cluster = configuredCluster({ rules: { trips: [], wiki: [] } })
  const policy = readRulesPolicy(
    { protectedDatasources: ['wiki', 'trisp'], protectedTiers: ['hot', 'clod'] },
    '',
  )
  const previewWith = (tiers?: object) =>
    ({ summary: { tiers } }) as unknown as Parameters<typeof policyWarnings>[2]
  const datasource =
    'The policy protects an unknown datasource [trisp] ([protectedDatasources]). Similar names: [trips]'

  test('is reported with similar names', async () =>
    assert.deepEqual(await policyWarnings(policy, cluster, previewWith({ hot: {}, cold: {} })), [
      datasource,
      'The policy protects an unknown tier [clod] ([protectedTiers]). Similar names: [cold]',
    ]))

  test('is not reported for tiers that the user may not read, or if no rules change', async () => {
    assert.deepEqual(await policyWarnings(policy, cluster, previewWith()), [datasource])
    assert.deepEqual(await policyWarnings(policy, cluster, undefined), [])
  })
})

describe('an invalid policy is reported before a cluster is reached', () => {
  for (const [name, add] of [
    ['plan', addPlan],
    ['apply', addApply],
  ] as const)
    test(name, async () => {
      const program = new Command()
      add(program)
      const options = ['--policy', '/no/such/policy.yaml', '--url', 'http://127.0.0.1:1']
      await assert.rejects(program.parseAsync(['node', 'svc', name, '/no/such/folder', ...options]), {
        message: '[/no/such/policy.yaml] does not exist',
      })
    })
})
