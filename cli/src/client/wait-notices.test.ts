import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterClient } from './cluster-client.ts'
import { withWaitNotices } from './wait-notices.ts'

const answer = { status: 200, headers: {}, body: 'done' }

/** A client that answers only when `answerAll` is called. */
function hangingClient() {
  const waiting: (() => void)[] = []
  const client: ClusterClient = {
    routerUrl: 'http://router',
    interfaceName: 'svc',
    request: async () => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return answer
    },
    send: async () => undefined,
  }
  const answerAll = () => {
    for (const one of waiting.splice(0)) one()
  }
  return { client, answerAll }
}

test('a client reports for which server it waits, and only once', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const printed: string[] = []
  const { client, answerAll } = hangingClient()
  const noticing = withWaitNotices(client, (text) => printed.push(text))
  const sent = [
    noticing.send('GET', '/svc/coordinator/v1/rules?full'),
    noticing.send('GET', '/svc/coordinator/v1/config'),
    noticing.send('GET', '/status'),
  ]
  context.mock.timers.tick(2999)
  assert.deepEqual(printed, [])
  context.mock.timers.tick(1)
  assert.deepEqual(printed, [
    'Waiting for a response from the coordinator at [http://router] (GET /svc/coordinator/v1/rules)',
    'Waiting for a response from the router at [http://router] (GET /status)',
  ])
  answerAll()
  assert.deepEqual(await Promise.all(sent), ['done', 'done', 'done'])
})

test('a client reports nothing if answers arrive in time', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const printed: string[] = []
  const { client, answerAll } = hangingClient()
  const sent = withWaitNotices(client, (text) => printed.push(text)).send('GET', '/status')
  answerAll()
  await sent
  context.mock.timers.tick(60_000)
  assert.deepEqual(printed, [])
})
