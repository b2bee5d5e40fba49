import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UnplacedReason } from '@svc/domain/loading'
import type { TierLack } from '@svc/domain/retention'
import { shortageSentence, shortageSentences, shortagesOf, shortageView } from './index.ts'

const all = shortageView({ has: () => true })
const onlyOf = (...datasources: number[]) => shortageView({ has: (number) => datasources.includes(number) })

test('shortages are listed for the first 20 tiers, and counted for the others', () => {
  const numbers: Readonly<Record<TierLack, number>> = {
    tiersWithoutServers: 23,
    tiersWithTooFewServers: 20,
    tiersWithoutActiveServers: 1,
  }
  const segments = new Map([[0, 1]])
  const shortages = shortagesOf({
    unplaced: () => [],
    lacking: (lack) =>
      new Map(Array.from({ length: numbers[lack] }, (_, index) => [`t${index}`, [{ copies: 2, segments }]])),
  })
  const sentences = shortageSentences(shortages, all)
  assert.equal(sentences.length, 42)
  assert.equal(sentences[19], 'Tier [t19] has no servers for 2 replicas')
  assert.equal(sentences[20], 'Other tiers that have no servers: 3')
  assert.deepEqual(shortageSentences(shortages, onlyOf(1)), [])
  assert.match(sentences[40]!, /^Tier \[t19\] has too few servers/)
  assert.equal(
    sentences[41],
    'Tier [t0] has only decommissioning servers, which load no segments; rules require 2 replicas there',
  )
})

test('shortages count only replicas of datasources that the caller may read', () => {
  const none = new Map<string, never>()
  const [noRoom, noServers, onlyHidden] = shortagesOf({
    unplaced: () => [
      {
        ...{ tier: 'hot', reason: 'noRoom', copies: 5, exampleRow: 0, minSizeBytes: 1 },
        ofDatasources: new Map([
          [0, { copies: 4, minSizeBytes: 1 }],
          [1, { copies: 1, minSizeBytes: 7 }],
        ]),
      },
    ],
    lacking: (lack) =>
      lack !== 'tiersWithoutServers'
        ? none
        : new Map([
            [
              'cold',
              [
                {
                  copies: 2,
                  segments: new Map([
                    [0, 10],
                    [1, 3],
                  ]),
                },
                { copies: 1, segments: new Map([[1, 1]]) },
              ],
            ],
            ['secret', [{ copies: 1, segments: new Map([[0, 1]]) }]],
          ]),
  })
  assert.deepEqual(
    [noRoom, noServers, onlyHidden].map((one) => [all.copiesOf(one!), onlyOf(1).copiesOf(one!)]),
    [
      [5, 1],
      [27, 7],
      [1, 0],
    ],
  )
  assert.deepEqual([all.minSizeOf(noRoom!), onlyOf(1).minSizeOf(noRoom!)], [1, 7])
  assert.equal(all.minSizeOf(noServers!), undefined)
  assert.equal(shortageSentence(noRoom!, onlyOf(1)), 'Tier [hot] has no space for 1 replica')
  assert.deepEqual(shortageSentences([noServers!, onlyHidden!], onlyOf(1)), [
    'Tier [cold] has no servers for 7 replicas',
  ])
})

test('shortages say what is missing in a tier: space, successful loads, queues, or an increase of the throttle', () => {
  const reasons: [reason: UnplacedReason, text: RegExp][] = [
    ['noRoom', /^Tier \[hot\] has no space for 2 replicas$/],
    ['loadFailed', /does not load 2 replicas because the servers that have space failed to load them$/],
    ['beingDropped', /loads 2 replicas once its servers have dropped their old copies$/],
    ['queueFull', /does not load 2 replicas yet because the load queues are full$/],
    [
      'replicationThrottled',
      /because each run assigns at most \[replicationThrottleLimit\] additional replicas in a tier$/,
    ],
  ]
  for (const [reason, text] of reasons) {
    const [shortage] = shortagesOf({
      unplaced: () => [
        {
          ...{ tier: 'hot', reason, copies: 2, exampleRow: 0, minSizeBytes: 1 },
          ofDatasources: new Map([[0, { copies: 2, minSizeBytes: 1 }]]),
        },
      ],
      lacking: () => new Map(),
    })
    assert.match(shortageSentence(shortage!, all) ?? '', text)
  }
})
