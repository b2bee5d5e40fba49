import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { createMetrics, metricsDocument } from './index.ts'

const samplesOf = (text: string, name: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))

describe('metrics', () => {
  it('count by labels, also what was counted before the first scrape', async () => {
    const metrics = createMetrics('router')
    metrics.count('svc_http_requests_total', { method: 'GET', status: '200' })
    metrics.count('svc_http_requests_total', { method: 'GET', status: '200' })
    metrics.count('svc_http_requests_total', { method: 'GET', status: '403' }, 3)
    const first = await metrics.text()
    assert.match(first.contentType, /^text\/plain; version=0\.0\.4/)
    assert.deepEqual(samplesOf(first.text, 'svc_http_requests_total'), [
      'svc_http_requests_total{method="GET",status="403"} 3',
      'svc_http_requests_total{method="GET",status="200"} 2',
    ])
    metrics.count('svc_http_requests_total', { method: 'GET', status: '403' })
    const second = await metrics.text()
    assert.ok(second.text.includes('svc_http_requests_total{method="GET",status="403"} 4'))
  })

  it('are read anew at every scrape where they are observed', async () => {
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

  it('name no more than 200 label sets, and add up the rest', async () => {
    const metrics = createMetrics('coordinator')
    metrics.observe('svc_duty_runs_total', () =>
      Array.from({ length: 5000 }, (_, number) => ({ labels: { duty: `duty ${number}` }, value: number })),
    )
    const samples = samplesOf((await metrics.text()).text, 'svc_duty_runs_total')
    assert.equal(samples.length, 200)
    assert.equal(samples[0], 'svc_duty_runs_total{duty="duty 4999"} 4999')
    const total = samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    assert.equal(total, (4999 * 5000) / 2)
  })

  it('of other roles are not told', async () => {
    const { text } = await createMetrics('router').text()
    assert.ok(!text.includes('svc_duty_runs_total'))
  })

  it('are listed in docs/metrics.md', () => {
    const page = readFileSync(new URL('../../../../docs/metrics.md', import.meta.url), 'utf8')
    assert.equal(page, metricsDocument())
  })
})
