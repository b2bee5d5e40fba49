import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseRules } from '../rules/index.ts'
import { type LimitedEffects, policyViolations, readRulesPolicy } from './index.ts'

const none = { segments: 0, bytes: 0 }

interface GivenDatasource {
  readonly used?: { readonly segments: number; readonly bytes: number }
  readonly unused?: { readonly segments: number; readonly bytes: number }
  readonly queryableBefore?: number
  readonly dropped?: Readonly<Record<string, number>>
}

function summaryOf(datasources: Readonly<Record<string, GivenDatasource>>): LimitedEffects {
  const all = Object.values(datasources)
  const sum = (tallies: readonly { segments: number; bytes: number }[]) => ({
    segments: tallies.reduce((total, { segments }) => total + segments, 0),
    bytes: tallies.reduce((total, { bytes }) => total + bytes, 0),
  })
  return {
    used: sum(all.map(({ used = none }) => used)),
    effects: { unused: sum(all.map(({ unused = none }) => unused)) },
    datasources: Object.fromEntries(
      Object.entries(datasources).map(
        ([name, { used = none, unused = none, queryableBefore = 0, dropped = {} }]) => [
          name,
          {
            used,
            effects: { unused, unqueryable: { queryableBefore } },
            tiers: Object.fromEntries(
              Object.entries(dropped).map(([tier, copies]) => [tier, { dropped: { copies } }]),
            ),
          },
        ],
      ),
    ),
  }
}

const gigabyte = 1e9
const wiki = {
  used: { segments: 10, bytes: 100 * gigabyte },
  unused: { segments: 2, bytes: 20 * gigabyte },
  queryableBefore: 2,
  dropped: { hot: 4 },
}
const other = { used: { segments: 90, bytes: 900 * gigabyte } }

describe('a policy', () => {
  const cases: [name: string, policy: object, expected: string[]][] = [
    ['without limits allows everything', {}, []],
    [
      'allows what is within its limits',
      { maxUnusedBytes: '20g', maxUnusedPercent: 20, protectedTiers: ['cold'] },
      [],
    ],
    [
      'limits the bytes of a datasource',
      { maxUnusedBytes: '19g' },
      [
        'Datasource [wiki]: 2 segments (20.0 GB) would be marked as unused, but the limit is 19.0 GB ([maxUnusedBytes])',
      ],
    ],
    [
      'limits the percentage of a datasource',
      { maxUnusedPercent: 19.9 },
      [
        'Datasource [wiki]: 2 segments (20.0 GB) would be marked as unused, which is 20.0% of the used data, but the limit is 19.9% ([maxUnusedPercent])',
      ],
    ],
    [
      'limits the bytes and the percentage of all datasources',
      { maxTotalUnusedBytes: 0, maxTotalUnusedPercent: 1 },
      [
        'All datasources: 2 segments (20.0 GB) would be marked as unused, but the limit is 0 B ([maxTotalUnusedBytes])',
        'All datasources: 2 segments (20.0 GB) would be marked as unused, which is 2.0% of the used data, but the limit is 1% ([maxTotalUnusedPercent])',
      ],
    ],
    [
      'protects datasources',
      { protectedDatasources: ['other', 'wiki'] },
      ['Datasource [wiki] is protected, but 2 segments would be marked as unused ([protectedDatasources])'],
    ],
    [
      'protects tiers',
      { protectedTiers: ['hot'] },
      ['Tier [hot] is protected, but would drop 4 replicas ([protectedTiers])'],
    ],
  ]
  for (const [name, policy, expected] of cases)
    test(name, () =>
      assert.deepEqual(
        policyViolations(readRulesPolicy(policy, ''), new Map(), summaryOf({ wiki, other })),
        expected,
      ),
    )

  test('protects datasources from becoming unqueryable', () => {
    const summary = summaryOf({ wiki: { queryableBefore: 1 } })
    assert.deepEqual(
      policyViolations(readRulesPolicy({ protectedDatasources: ['wiki'] }, ''), new Map(), summary),
      ['Datasource [wiki] is protected, but 1 segment would become unqueryable ([protectedDatasources])'],
    )
  })

  test('checks every rule of the changed lists', () => {
    const lists = new Map([
      [
        'wiki',
        parseRules([
          {
            type: 'loadByPeriod',
            period: 'P1D',
            tieredReplicants: { hot: 1, cold: 1 },
            includeFuture: false,
          },
          { type: 'loadByPeriod', period: 'P1M', tieredReplicants: { cold: 1 } },
          { type: 'dropByPeriod', period: 'P1D', includeFuture: false },
        ]),
      ],
      ['_default', parseRules([{ type: 'loadForever', tieredReplicants: {} }])],
    ])
    const policy = readRulesPolicy({ requireIncludeFuture: true, minReplicas: 2 }, '')
    assert.deepEqual(policyViolations(policy, lists, summaryOf({})), [
      'Datasource [wiki]: rule [0] [loadByPeriod] must include the future ([requireIncludeFuture])',
      'Datasource [wiki]: rule [1] [loadByPeriod] must load at least 2 replicas, not 1 ([minReplicas])',
      'Cluster defaults: rule [0] [loadForever] must load at least 2 replicas, not 0 ([minReplicas])',
    ])
  })

  test('counts segments if they have no bytes', () => {
    const summary = summaryOf({
      wiki: { used: { segments: 4, bytes: 0 }, unused: { segments: 1, bytes: 0 } },
    })
    assert.deepEqual(policyViolations(readRulesPolicy({ maxUnusedPercent: 25 }, ''), new Map(), summary), [])
    assert.equal(
      policyViolations(readRulesPolicy({ maxUnusedPercent: 24 }, ''), new Map(), summary).length,
      1,
    )
  })

  test('forbids a loss of an unknown percentage', () => {
    const { used: _, ...summary } = summaryOf({ wiki })
    assert.match(
      policyViolations(readRulesPolicy({ maxTotalUnusedPercent: 50 }, ''), new Map(), summary)[0]!,
      /\. Checking the limit of .* requires permission \[READ\] on \[STATE\]$/,
    )
  })

  test('with a wrong field is refused', () => {
    assert.throws(() => readRulesPolicy({ maxUnusedByte: 1 }, ''), /Unknown field \[maxUnusedByte\]/)
    assert.throws(() => readRulesPolicy({ maxUnusedPercent: 101 }, ''), /\[maxUnusedPercent\]/)
    assert.throws(() => readRulesPolicy({ protectedTiers: 'hot' }, ''), /\[protectedTiers\]/)
    assert.throws(() => readRulesPolicy([], ''), /expected an object with policy limits/)
  })
})
