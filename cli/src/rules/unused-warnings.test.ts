import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterClient } from '../client/index.ts'
import { unusedWarnings } from './index.ts'

const rules = [{ type: 'loadForever' }]
const warnings = [
  { type: 'unusedSegmentsStay', message: '3 segments would be loaded' },
  { type: 'requestedSegmentsStay', message: '1 segment stays unused' },
  { type: 'doesNotFit', message: 'no space' },
]

/** Returns the warnings about a datasource, and the bodies of the requests for previews. */
async function ask(dataSource: string, answer: () => object, interfaceName: 'svc' | 'druid' = 'svc') {
  const bodies: unknown[] = []
  const send = async (_method: string, _path: string, body: unknown) => {
    bodies.push(body)
    return answer()
  }
  const client = { interfaceName, send } as unknown as ClusterClient
  return { found: await unusedWarnings(client, dataSource, rules), bodies }
}

test('setting rules returns warnings about segments that stay unused', async () => {
  const { found, bodies } = await ask('flights', () => ({ known: true, warnings }))
  assert.deepEqual(found, [
    '3 segments would be loaded. To include these segments, repeat the command with --mark-used',
    '1 segment stays unused. To mark segments as used, run ./svc mark-used',
  ])
  assert.deepEqual(bodies, [{ rules: { flights: rules } }])
  const { bodies: ofDefaults } = await ask('_default', () => ({ known: true, warnings }))
  assert.deepEqual(ofDefaults, [{ rules: {}, defaultRules: rules }])
})

test('setting rules returns no such warnings if no preview is available', async () => {
  assert.deepEqual((await ask('flights', () => ({ known: false, reasons: ['x'] }))).found, [])
  const failing = () => {
    throw new Error('unavailable')
  }
  assert.deepEqual((await ask('flights', failing)).found, [])
  assert.deepEqual(await ask('flights', () => ({ warnings }), 'druid'), { found: [], bodies: [] })
})
