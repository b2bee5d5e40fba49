import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { parseRules } from '@svc/domain/rules'
import { type LimitedEffects, readRulesPolicy } from '@svc/domain/rules-policy'
import type { Caller } from '@svc/shared/security'
import { createRulesGuard, type GuardedChange } from './rules-guard.ts'

const tally = { segments: 2, bytes: 20 }
const summary: LimitedEffects = {
  used: tally,
  effects: { unused: tally },
  datasources: {
    wiki: { used: tally, effects: { unused: tally, unqueryable: { queryableBefore: 2 } }, tiers: {} },
  },
}
const audit = { author: 'ann', comment: 'why', identity: 'ann', ip: '127.0.0.1' }
const callerWho = (can: Caller['can']): Caller => ({
  identity: 'ann',
  authenticator: 'basic',
  groups: [],
  compatibility: false,
  can,
  hasAny: () => true,
  sees: () => true,
})
const change: GuardedChange = {
  dataSource: 'wiki',
  list: parseRules([{ type: 'dropForever' }]),
  audit,
  caller: callerWho(() => true),
  overridesPolicy: false,
  signal: new AbortController().signal,
}
const guardWith = (policy: object, summaryOf = async () => summary) =>
  createRulesGuard(readRulesPolicy(policy, ''), { summaryOf })

describe('the guard of rules', () => {
  test('without a policy allows everything, and previews nothing', async () => {
    const guard = createRulesGuard(undefined, { summaryOf: () => Promise.reject(new Error('not needed')) })
    assert.equal(await guard(change), audit)
  })

  test('allows what is within the policy', async () => {
    assert.equal(await guardWith({ maxUnusedBytes: 20 })(change), audit)
  })

  test('refuses what the policy forbids, and says how to override it', async () => {
    await assert.rejects(guardWith({ protectedDatasources: ['wiki'] })(change), {
      code: 'conflict',
      message:
        'The policy of the cluster forbids this change. Datasource [wiki] is protected, but 2 segments would be marked as unused ([protectedDatasources]). To change the rules anyway, add the parameter [overridePolicy], which requires permission [WRITE] on [CONFIG] [rulesOverride].',
    })
  })

  test('records in the audit entry what a change overrides', async () => {
    const guard = guardWith({ maxUnusedBytes: 1 })
    assert.deepEqual(await guard({ ...change, overridesPolicy: true }), {
      ...audit,
      comment:
        'why (overrides the policy: Datasource [wiki]: 2 segments (20 B) would be marked as unused, but the limit is 1 B ([maxUnusedBytes]))',
    })
  })

  test('allows only users with the permission to override it, even if nothing is to override', async () => {
    const asked: string[] = []
    const caller = callerWho((...access) => {
      asked.push(access.join(' '))
      return false
    })
    await assert.rejects(guardWith({})({ ...change, caller, overridesPolicy: true }), { code: 'forbidden' })
    assert.deepEqual(asked, ['WRITE CONFIG rulesOverride'])
  })

  test('refuses changes whose effect is unknown, unless the policy is overridden', async () => {
    const guard = guardWith({ maxUnusedBytes: 20 }, () => Promise.reject(unavailable('not known')))
    await assert.rejects(guard(change), { code: 'unavailable' })
    const { comment } = await guard({ ...change, overridesPolicy: true })
    assert.equal(comment, 'why (overrides the policy: The change could not be previewed)')
  })
})
