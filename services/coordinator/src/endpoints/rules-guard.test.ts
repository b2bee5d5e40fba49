import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { parseRules } from '@svc/domain/rules'
import { type LimitedEffects, readRulesPolicy } from '@svc/domain/rules-policy'
import type { AuditInfo } from '@svc/shared/http'
import type { Caller } from '@svc/shared/security'
import { testCaller } from '@svc/shared/testing'
import { createRuleLists } from './rules.ts'
import { createRulesGuard, type GuardedChange, type RulesGuard } from './rules-guard.ts'

const tally = { segments: 2, bytes: 20 }
const summary: LimitedEffects = {
  used: tally,
  effects: { unused: tally },
  datasources: {
    wiki: { used: tally, effects: { unused: tally, unqueryable: { queryableBefore: 2 } }, tiers: {} },
  },
}
const audit = { author: 'ann', comment: 'why', identity: 'ann', ip: '127.0.0.1' }
const callerWho = (can: Caller['can'], reads: (name: string) => boolean = () => true): Caller =>
  testCaller((action, type, name) => (type === 'DATASOURCE' ? reads(name) : can(action, type, name)))
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

/** Returns the audit information with which a guard saves a change. */
async function saved(guard: RulesGuard, given: GuardedChange): Promise<AuditInfo> {
  const audits: AuditInfo[] = []
  await guard.save(given, async (one) => void audits.push(one))
  return audits[0]!
}
const howToOverride =
  'To change the rules anyway, add the parameter [overridePolicy], which requires permission [WRITE] on [CONFIG] [rulesOverride].'
const unsaved = async () => assert.fail('saved')

describe('the guard of rules', () => {
  test('without a policy allows everything, and previews nothing', async () => {
    const guard = createRulesGuard(undefined, { summaryOf: () => Promise.reject(new Error('not needed')) })
    assert.equal(await saved(guard, change), audit)
  })

  test('allows what is within the policy', async () => {
    assert.equal(await saved(guardWith({ maxUnusedBytes: 20 }), change), audit)
  })

  test('refuses what the policy forbids, and says how to override it', async () => {
    await assert.rejects(guardWith({ protectedDatasources: ['wiki'] }).save(change, unsaved), {
      code: 'conflict',
      message:
        'The policy of the cluster forbids this change. Datasource [wiki] is protected, but 2 segments would be marked as unused ([protectedDatasources]). To change the rules anyway, add the parameter [overridePolicy], which requires permission [WRITE] on [CONFIG] [rulesOverride].',
    })
  })

  test('does not show names and sizes of datasources that the caller may not read', async () => {
    const lost = (segments: number) => ({
      used: { segments, bytes: 10 * segments },
      effects: { unused: { segments, bytes: 10 * segments }, unqueryable: { queryableBefore: 0 } },
      tiers: { hot: { dropped: { copies: segments } } },
    })
    const total = { segments: 79, bytes: 790 }
    const effects = {
      used: total,
      effects: { unused: total },
      datasources: { wiki: lost(2), trips: lost(77) },
    }
    const hidden =
      'With its effects on datasources that the user may not read, the change exceeds a limit of the policy'
    const rows: [policy: object, expected: string][] = [
      [{ protectedDatasources: ['trips'] }, hidden],
      [{ maxUnusedBytes: 100 }, hidden],
      [{ maxTotalUnusedBytes: 100 }, hidden],
      [{ maxTotalUnusedPercent: 1 }, hidden],
      [
        { protectedTiers: ['hot'] },
        `Tier [hot] is protected, but would drop 2 replicas ([protectedTiers]). ${hidden}`,
      ],
      [
        { protectedDatasources: ['wiki'] },
        'Datasource [wiki] is protected, but 2 segments would be marked as unused ([protectedDatasources])',
      ],
    ]
    const caller = callerWho(
      () => false,
      (name) => name === 'wiki',
    )
    for (const [policy, expected] of rows)
      await assert.rejects(guardWith(policy, async () => effects).save({ ...change, caller }, unsaved), {
        message: `The policy of the cluster forbids this change. ${expected}. ${howToOverride}`,
      })
  })

  test('records in the audit entry what a change overrides', async () => {
    const guard = guardWith({ maxUnusedBytes: 1 })
    assert.deepEqual(await saved(guard, { ...change, overridesPolicy: true }), {
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
    await assert.rejects(guardWith({}).save({ ...change, caller, overridesPolicy: true }, unsaved), {
      code: 'forbidden',
    })
    assert.throws(() => guardWith({}).assertMayOverride(caller), { code: 'forbidden' })
    const access = 'WRITE CONFIG rulesOverride'
    assert.deepEqual(asked, [access, access])
  })

  test('refuses a user without the permission even if the rules are invalid, so that the permission can be checked', async () => {
    type Given = Parameters<typeof createRuleLists>
    const codeFor = async (guard: RulesGuard, overridePolicy: boolean) => {
      const lists = createRuleLists({} as Given[0], {} as Given[1], async () => [], guard)
      const request = { audit, caller: callerWho(() => false), query: { overridePolicy } }
      const replaced = lists.replace('wiki', 'probe', request as Parameters<typeof lists.replace>[2])
      return await replaced.catch(({ code }) => code)
    }
    assert.equal(await codeFor(guardWith({}), true), 'forbidden')
    assert.equal(await codeFor(guardWith({}), false), 'invalidInput')
    assert.equal(await codeFor(createRulesGuard(undefined, { summaryOf: unsaved }), true), 'invalidInput')
  })

  test('refuses changes whose effect is unknown, unless the policy is overridden', async () => {
    const guard = guardWith({ maxUnusedBytes: 20 }, () => Promise.reject(unavailable('not known')))
    await assert.rejects(guard.save(change, unsaved), { code: 'unavailable' })
    const { comment } = await saved(guard, { ...change, overridesPolicy: true })
    assert.equal(comment, 'why (overrides the policy: The change could not be previewed)')
  })

  test('checks a change only after the one before is saved, even after one that failed', async () => {
    const steps: string[] = []
    const guard = guardWith({}, async () => {
      steps.push('check')
      return summary
    })
    const save = async (): Promise<void> => {
      await new Promise(setImmediate)
      steps.push('save')
    }
    const failed = guard.save(change, async () => {
      await save()
      throw new Error('no database')
    })
    await Promise.all([assert.rejects(failed), guard.save(change, save), guard.save(change, save)])
    assert.deepEqual(steps, ['check', 'save', 'check', 'save', 'check', 'save'])
  })
})
