// Starts the image [svc-cluster], or the one that the environment variable SVC_IMAGE names.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { after, before, test } from 'node:test'
// This package is tested with what its users install.
import { Agent, request } from 'undici'
import { type StartedSvcContainer, SvcContainer } from './index.ts'

const image = process.env.SVC_IMAGE ?? 'svc-cluster'
const rules = [{ type: 'loadForever', tieredReplicants: { hot: 1 } }]
const csv = 'time,page\n2026-01-01T00:00:00Z,Main\n2026-01-02T00:00:00Z,Other\n'
let cluster: StartedSvcContainer

before(async () => {
  cluster = await new SvcContainer(image)
    .withHistoricals('hot=1,_default_tier=1')
    .withRules('wikipedia', rules)
    .withDatasource('wikipedia', csv, 'time')
    .start()
})
after(() => cluster?.stop())

test('has the rules', async () => {
  const { json } = await get('/svc/coordinator/v1/rules/wikipedia')
  assert.deepEqual((json as typeof rules)[0]?.tieredReplicants, { hot: 1 })
})

test('has loaded the datasource, and serves paths of Druid', async () => {
  assert.deepEqual(await get('/druid/coordinator/v1/loadstatus'), { status: 200, json: { wikipedia: 100 } })
})

test('requires a login', async () => {
  const { status } = await get('/svc/coordinator/v1/loadstatus', 'wrong')
  assert.equal(status, 401)
})

test('repeats the first request until it is answered', async () => {
  let closed = 0
  const relay = createServer((incoming) => {
    if (++closed <= 5) {
      incoming.destroy()
      return
    }
    const outgoing = connect(cluster.getMappedPort(9088), cluster.getHost())
    incoming.pipe(outgoing).pipe(incoming)
    for (const socket of [incoming, outgoing]) socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const { port } = relay.address() as AddressInfo
  const relayed: StartedSvcContainer = Object.create(cluster, {
    getRouterUrl: { value: () => `https://localhost:${port}` },
  })
  try {
    await relayed.prepare(new Map([['wikipedia', rules]]), [])
    assert.ok(closed > 5)
  } finally {
    relay.close()
  }
})

test('reports invalid rules', async () => {
  const container = new SvcContainer(image).withRules('wikipedia', [{ type: 'loadSometimes' }])
  await assert.rejects(container.start(), /returned 400: .*loadSometimes/)
})

test('reports the log of a container that exits', { timeout: 30_000 }, async () => {
  const container = new SvcContainer(image).withProperty('svc.coordinator.period', 'often')
  await assert.rejects(container.start(), /\[svc\.coordinator\.period\]/)
})

async function get(path: string, password = cluster.getAdminPassword()) {
  const agent = new Agent({ connect: { ca: cluster.getCertificate() } })
  try {
    const login = Buffer.from(`${cluster.getAdminUser()}:${password}`).toString('base64')
    const { statusCode, body } = await request(`${cluster.getRouterUrl()}${path}`, {
      dispatcher: agent,
      headers: { authorization: `Basic ${login}` },
    })
    return { status: statusCode, json: (await body.json()) as unknown }
  } finally {
    await agent.close()
  }
}
