import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { parseRules } from '@svc/domain/rules'
import type { ClusterClient } from '../client/index.ts'
import { previewsOf } from './index.ts'

const id = 'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v1'
const drop = [{ type: 'dropForever' }]
const answers: Readonly<Record<string, unknown>> = {
  'servers?simple': [
    { host: 'a:1', type: 'historical', tier: 'hot', priority: 0, currSize: 10, maxSize: 100 },
  ],
  rules: { _default: parseRules(drop) },
  config: {},
  'metadata/segments?includeOvershadowedStatus': [
    {
      dataSource: 'wiki',
      interval: '2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z',
      version: 'v1',
      dimensions: '',
      metrics: '',
      shardSpec: { type: 'none' },
      size: 10,
      overshadowed: false,
    },
  ],
  'servers/a:1/segments': [id],
  loadstatus: { wiki: 100 },
  'datasources?simple': [{ name: 'wiki', properties: { segments: { count: 1 } } }],
}
let forbidden: readonly string[] = []
const server = createServer(({ url = '' }, response) => {
  response.setHeader('Content-Type', 'application/json')
  const path = decodeURIComponent(url).replace('/druid/coordinator/v1/', '')
  if (forbidden.some((name) => path.endsWith(name))) response.writeHead(403).end('{}')
  else if (path in answers) response.end(JSON.stringify(answers[path]))
  else if (path.startsWith('rules/')) response.end('[]')
  else response.writeHead(404).end('{}')
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => {
  server.closeAllConnections()
  server.close()
})

/** Returns the warnings of a preview for a Druid cluster. */
async function warningsOfDruid(body: object = { rules: {}, defaultRules: drop }) {
  const routerUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = { interfaceName: 'druid' } as unknown as ClusterClient
  const preview = previewsOf(client, { routerUrl } as Parameters<typeof previewsOf>[1], { buckets: 10 })
  const answer = await preview({ ...body })
  return 'warnings' in answer ? answer.warnings : []
}

test('a preview for Druid warns if the user may not read every datasource', async () => {
  const isPartial = ({ message }: { readonly message: string }) => message.includes('may not read')
  const complete = await warningsOfDruid()
  assert.ok(complete.length > 0)
  assert.deepEqual(complete.filter(isPartial), [])
  forbidden = ['rules/svc-import-any-datasource']
  const message =
    'The preview leaves out datasources that this user may not read. They also need space, so more replicas may not fit than the preview shows'
  assert.deepEqual((await warningsOfDruid()).filter(isPartial), [{ type: 'incompletePreview', message }])
  // Other rules cannot affect these datasources.
  assert.deepEqual((await warningsOfDruid({ rules: { wiki: drop } })).filter(isPartial), [
    { type: 'incompleteSpace', message },
  ])
})
