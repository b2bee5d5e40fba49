import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { callJournalPath } from '@svc/domain/calls'
import { jsonAnswer, open, route } from '@svc/shared/http'
import { saveHeartbeat } from '@svc/shared/postgres'
import { createTestContext, createTestStores, httpRequest } from '@svc/shared/testing'
import * as z from 'zod'
import { callsRoute } from './calls.ts'

test('the calls of all servers are shown once, with the servers whose journals cannot be read', async () => {
  const stores = await createTestStores({ after })
  const context = await createTestContext({ after }, stores, 'coordinator')
  const self = context.node()
  const gone = { ...self, role: 'broker', name: '127.0.0.1:1', plaintextPort: 1 } as const
  await saveHeartbeat(context.database, gone)
  const sent = {
    time: '2026-01-01T00:00:00.000Z',
    direction: 'sent',
    from: `coordinator ${self.name}`,
    to: 'http://127.0.0.1:1',
    method: 'GET',
    path: '/x',
    tls: false,
    identity: 'svc_system',
    certificate: null,
    status: null,
    error: 'no response',
  } as const
  const journal = route({
    method: 'GET',
    path: callJournalPath,
    access: open,
    summary: 'The journal of this server',
    answers: [jsonAnswer(z.array(z.unknown()))],
    handle: () => [sent, sent, sent],
  })
  await context.serve({ routes: [callsRoute(context), journal] })
  const { json } = await httpRequest(context.port, { path: '/svc/coordinator/v1/calls' })
  const { calls, missing, omittedServers } = json as {
    readonly calls: readonly object[]
    readonly missing: readonly { readonly server: string; readonly reason: string }[]
    readonly omittedServers: number
  }
  assert.deepEqual(calls, [
    {
      from: { role: 'coordinator', name: self.name },
      to: { role: 'broker', name: gone.name },
      method: 'GET',
      path: '/x',
      tls: false,
      identity: 'svc_system',
      calls: 3,
      failures: 3,
      lastTime: sent.time,
      lastStatus: null,
      lastError: 'no response',
    },
  ])
  assert.deepEqual(
    missing.map(({ server }) => server),
    ['broker 127.0.0.1:1'],
  )
  assert.match(missing[0]!.reason, /cannot be reached/)
  assert.equal(omittedServers, 0)
})
