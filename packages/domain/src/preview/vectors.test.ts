// Sends every recorded decision of Druid 37 about rules, timelines, and tiers to the preview as a request.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { previewGiven } from './test-preview.ts'

const recorded = <Line>(name: string): Line[] =>
  readFileSync(new URL(`../../../../test/fixtures/vectors/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

const loadForever = { type: 'loadForever' }

test('loads the same replicas as Druid 37 in every recorded cluster', () => {
  interface Cluster {
    readonly now: string
    readonly servers: readonly object[]
    readonly rules: readonly { readonly type: string }[]
    readonly segments: readonly {
      readonly interval: string
      readonly partitionNum: number
      readonly loaded: object
      readonly brokers?: number
    }[]
  }
  const clusters = recorded<Cluster>('tiers')
  assert.equal(clusters.length, 120)
  for (const { now, servers, rules, segments } of clusters) {
    const { rows } = previewGiven({
      now,
      servers,
      rules: { wiki: rules },
      defaultRules: [loadForever],
      segments: segments.map(({ interval, partitionNum }) => ({
        dataSource: 'wiki',
        interval,
        partitionNum,
      })),
    })
    for (const [index, { loaded, brokers = 0 }] of segments.entries()) {
      const row = rows[index]!
      const about = JSON.stringify({ row, rules, servers })
      assert.deepEqual({ loaded: row.loaded, brokers: row.brokers }, { loaded, brokers }, about)
      const { source, index: at, type } = row.rule!
      assert.equal(type, (source === 'datasource' ? rules : [loadForever])[at]!.type, about)
      assert.equal(row.action === 'drop', type.startsWith('drop'), about)
    }
  }
})

test('applies every recorded rule like Druid 37', () => {
  interface Decision {
    readonly rule: object
    readonly now: string
    readonly segment: string
    readonly applies: boolean
  }
  const decisions = recorded<Decision>('rules')
  assert.equal(decisions.length, 3000)
  for (const { rule, now, segment, applies } of decisions) {
    const { rows } = previewGiven({ now, rules: [rule], segments: [{ interval: segment }], servers: [] })
    assert.equal(rows[0]!.rule!.source === 'datasource', applies, JSON.stringify({ rule, now, segment }))
  }
})

test('overshadows the same segments as Druid 37 in every recorded timeline', () => {
  interface Timeline {
    readonly segments: readonly { readonly overshadowed: boolean }[]
  }
  const timelines = recorded<Timeline>('timeline')
  assert.equal(timelines.length, 400)
  for (const { segments } of timelines) {
    const { rows } = previewGiven({ rules: [], segments, servers: [] })
    for (const [index, { overshadowed }] of segments.entries()) {
      const { overshadowed: found, rule, action } = rows[index]!
      assert.equal(found, overshadowed, JSON.stringify(segments))
      if (overshadowed) assert.deepEqual({ rule, action }, { rule: null, action: 'drop' })
      else assert.equal(action, 'load')
    }
  }
})
