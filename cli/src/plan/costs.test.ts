import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Change } from '../declared-state/index.ts'
import type { AnsweredPreview } from '../preview/index.ts'
import { costDetail, costsOfPreview } from './costs.ts'
import { warningsOfPlan } from './plan-warnings.ts'

const gib = 2 ** 30
const none = { segments: 0, copies: 0, bytes: 0 }
const now = '2026-01-01T00:00:00.000Z'
const later = '2027-01-01T00:00:00.000Z'
const tier = (before: number, after: number) => ({
  servers: 1,
  capacityBytes: 1000 * gib,
  bytesBefore: before * gib,
  bytesAfter: after * gib,
  doesNotFit: none,
})
const answer = {
  now,
  summary: {
    tiers: {
      hot: { ...tier(100, 40), doesNotFitFrom: '2026-12-24T00:00:00.000Z' },
      cold: { ...tier(0, 60), doesNotFitFrom: null },
      other: { ...tier(1, 1), doesNotFitFrom: now },
      empty: { ...tier(0, 0), doesNotFitFrom: null },
    },
    steps: [
      {
        now: later,
        datasources: {},
        tiers: {
          hot: { ...tier(40, 20), doesNotFit: { segments: 2, copies: 2, bytes: 2e9 } },
          cold: tier(60, 100),
          other: tier(1, 1),
          empty: tier(0, 0),
        },
      },
    ],
  },
  warnings: [],
} as unknown as AnsweredPreview

describe('the costs of a plan', () => {
  const prices = { currency: 'EUR', perGibMonth: { hot: 0.5, cold: 0.1, unused: 9 } }

  test('are those of the replicas by tier, before, after, and at the end of the horizon', () => {
    const costs = costsOfPreview(prices, answer)!
    assert.deepEqual([costs.before, costs.after, costs.later], [50, 26, 20])
    const { table, notes } = costDetail(costs)
    assert.deepEqual(table, {
      header: ['tier', 'GiB before', 'after', 'EUR per month before', 'after', 'change', 'on 2027-01-01'],
      rows: [
        ['hot', '100.0', '40.0', '50.00', '20.00', '-30.00', '10.00'],
        ['cold', '0.0', '60.0', '0.00', '6.00', '+6.00', '10.00'],
        ['(all)', '', '', '50.00', '26.00', '-24.00', '20.00'],
      ],
    })
    assert.deepEqual(notes, ['Tier [other] has no price'])
  })

  test('are unknown to a user who may not read the tiers, and left out without prices', () => {
    const { tiers: _, ...summary } = answer.summary
    assert.equal(costsOfPreview(prices, { ...answer, summary }), undefined)
    assert.deepEqual(
      costDetail(costsOfPreview({ currency: undefined, perGibMonth: {} }, answer)!).table.rows,
      [],
    )
  })
})

describe('warnings of a plan', () => {
  const rules = (name: string, after: unknown): Change => ({
    kind: 'rules',
    path: ['rules', name],
    action: 'change',
    before: [],
    after,
  })

  test('name each rule that loads only one replica', () => {
    const list = [
      { type: 'loadByPeriod', period: 'P1D', tieredReplicants: { hot: 1, cold: 1 } },
      { type: 'loadByPeriod', period: 'P1M', tieredReplicants: { cold: 1 } },
      { type: 'loadByPeriod', period: 'P1Y', tieredReplicants: {} },
      { type: 'loadByMoon' },
      { type: 'dropForever' },
    ]
    assert.deepEqual(warningsOfPlan([rules('a', list), rules('_default', undefined)], undefined), [
      'rules.a: rule [1] loads only 1 replica of each segment, so data is unqueryable while a server is down',
      'rules.a: rule [2] loads no replicas, so data that it applies to cannot be queried',
    ])
  })

  test('leave out a rule without replicas if the preview warns of its data', () => {
    const none = [{ type: 'loadForever', tieredReplicants: {} }]
    const warning = (source: 'datasource' | 'default') => ({
      type: 'noReplicasLoaded',
      message: '',
      dataSource: 'a',
      rule: { index: 0, source },
    })
    const warned = (...sources: ('datasource' | 'default')[]) =>
      warningsOfPlan([rules('a', none), rules('b', none), rules('_default', none)], {
        ...answer,
        summary: { ...answer.summary, tiers: {} },
        warnings: sources.map(warning),
      }).map((sentence) => sentence.split(':')[0])
    assert.deepEqual(warned(), ['rules.a', 'rules.b', 'Cluster defaults'])
    assert.deepEqual(warned('datasource'), ['rules.b', 'Cluster defaults'])
    assert.deepEqual(warned('default'), ['rules.a', 'rules.b'])
  })

  test('name each tier that will be full, with the day', () => {
    assert.deepEqual(warningsOfPlan([], answer), [
      'Tier [hot] will be full on 2026-12-24: 2 replicas (2.0 GB) will not fit',
    ])
    const laterLosses = { doesNotFit: { from: later, segments: 2, copies: 2, bytes: 2e9, tiers: ['hot'] } }
    const said = { ...answer, summary: { ...answer.summary, laterLosses } }
    assert.deepEqual(warningsOfPlan([], said), [], 'the preview says so')
  })
})
