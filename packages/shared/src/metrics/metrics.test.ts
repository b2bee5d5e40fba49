import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { createMetrics, metricsDocument } from './index.ts'

const samplesOf = (text: string, name: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))

describe('metrics', () => {
  it('count by labels, including counts before the first scrape', async () => {
    const metrics = createMetrics('router')
    metrics.count('svc_http_requests_total', { method: 'GET', status: '200' })
    metrics.count('svc_http_requests_total', { method: 'GET', status: '200' })
    metrics.count('svc_http_requests_total', { method: 'GET', status: '403' }, 3)
    const first = await metrics.text()
    assert.match(first.contentType, /^text\/plain; version=0\.0\.4/)
    assert.deepEqual(samplesOf(first.text, 'svc_http_requests_total'), [
      'svc_http_requests_total{method="GET",status="200"} 2',
      'svc_http_requests_total{method="GET",status="403"} 3',
    ])
    metrics.count('svc_http_requests_total', { method: 'GET', status: '403' })
    const second = await metrics.text()
    assert.ok(second.text.includes('svc_http_requests_total{method="GET",status="403"} 4'))
  })

  it('are read again at every scrape if they are observed', async () => {
    const metrics = createMetrics('overlord')
    let used = 1
    metrics.observe('svc_task_slots', async () => [{ labels: { state: 'used' }, value: used }])
    assert.deepEqual(samplesOf((await metrics.text()).text, 'svc_task_slots'), [
      'svc_task_slots{state="used"} 1',
    ])
    used = 0
    assert.deepEqual(samplesOf((await metrics.text()).text, 'svc_task_slots'), [
      'svc_task_slots{state="used"} 0',
    ])
  })

  it('are reported while the store that other metrics need is unavailable', async () => {
    const metrics = createMetrics('overlord')
    metrics.count('svc_logins_total', { outcome: 'accepted' })
    metrics.observe('svc_tasks', async () => {
      throw unavailable('The metadata store is unavailable')
    })
    const { text } = await metrics.text()
    assert.deepEqual(samplesOf(text, 'svc_tasks'), [])
    assert.deepEqual(samplesOf(text, 'svc_logins_total'), ['svc_logins_total{outcome="accepted"} 1'])
  })

  it('have series for the largest datasources and tiers, and add up the rest', async () => {
    const metrics = createMetrics('coordinator')
    const names = Array.from({ length: 1000 }, (_, number) => `wiki${number}`)
    metrics.nameLargest('datasource', new Map(names.map((name, number) => [name, number])))
    const tiers = Array.from({ length: 50 }, (_, number) => `tier${number}`)
    metrics.observe('svc_segment_copies_served', () =>
      names.flatMap((datasource) => tiers.map((tier) => ({ labels: { datasource, tier }, value: 1 }))),
    )
    const samples = samplesOf((await metrics.text()).text, 'svc_segment_copies_served')
    assert.equal(samples.length, 101 * 21)
    assert.ok(samples.includes('svc_segment_copies_served{datasource="wiki999",tier="tier0"} 1'))
    assert.ok(samples.includes('svc_segment_copies_served{datasource="other",tier="tier0"} 900'))
    assert.ok(samples.includes('svc_segment_copies_served{datasource="other",tier="other"} 27000'))
  })

  it('add up values under one label, or report the largest if they cannot be added', async () => {
    const metrics = createMetrics('coordinator')
    const ages = [5, 7, 6]
    metrics.nameLargest('tier', new Map(Array.from({ length: 20 }, (_, number) => [`tier${number}`, 1])))
    metrics.observe('svc_load_queue_oldest_seconds', () =>
      ages.map((value) => ({ labels: { tier: `more${value}` }, value })),
    )
    assert.deepEqual(samplesOf((await metrics.text()).text, 'svc_load_queue_oldest_seconds'), [
      'svc_load_queue_oldest_seconds{tier="other"} 7',
    ])
  })

  it('forget the counts of a deleted datasource, and never decrease a counter', async () => {
    const metrics = createMetrics('coordinator')
    const count = (datasource: string) =>
      metrics.count('svc_segment_copies_loaded_total', { datasource, tier: 'hot' })
    const copiesLoaded = async () => samplesOf((await metrics.text()).text, 'svc_segment_copies_loaded_total')
    count('a')
    const all = new Map(Array.from({ length: 150 }, (_, number) => [`wiki${number}`, 1]))
    metrics.nameLargest('datasource', all)
    assert.deepEqual(await copiesLoaded(), [])
    const named = [...all.keys()].sort()[0]!
    count(named)
    count('late')
    count('late')
    metrics.nameLargest('datasource', all)
    assert.deepEqual(await copiesLoaded(), [
      `svc_segment_copies_loaded_total{datasource="${named}",tier="hot"} 1`,
      'svc_segment_copies_loaded_total{datasource="other",tier="hot"} 2',
    ])
  })

  it('of other roles are not reported', async () => {
    const { text } = await createMetrics('router').text()
    assert.ok(!text.includes('svc_duty_runs_total'))
  })

  it('are listed in docs/metrics.md', () => {
    const page = readFileSync(new URL('../../../../docs/metrics.md', import.meta.url), 'utf8')
    assert.equal(page, metricsDocument())
  })
})
