// Runs in its own thread so that the attack in this process does not delay it. Sends cheap requests at a fixed
// rate and measures how long the answers take. Stops when its port receives a message, and posts its samples to
// that port.

import { parentPort, workerData } from 'node:worker_threads'
import { createHttpClient } from '@svc/shared/testing'
import type { HealthySample, HealthyTask } from './healthy-samples.ts'

const { targets, trusted, credentials, periodMs } = workerData as HealthyTask
const samples: HealthySample[] = []
const inFlight = new Set<Promise<void>>()
// This thread must survive a server that hangs for long.
const maxInFlight = 500

const clients = targets.map(({ instance, url }) => ({
  instance,
  client: createHttpClient(url, { ...(trusted === undefined ? {} : { trusted }), credentials }),
}))

async function sendOne({ instance, client }: (typeof clients)[number]): Promise<void> {
  const startedAtMs = performance.timeOrigin + performance.now()
  const status = await client
    .send({ path: '/status' })
    .then((answer) => answer.status)
    .catch(() => 0)
  samples.push({
    instance,
    startedAtMs,
    durationMs: performance.timeOrigin + performance.now() - startedAtMs,
    status,
  })
}

const timer = setInterval(() => {
  for (const client of clients) {
    if (inFlight.size >= maxInFlight) return
    const sending = sendOne(client).finally(() => inFlight.delete(sending))
    inFlight.add(sending)
  }
}, periodMs)

parentPort!.on('message', async (wish: 'report' | 'stop') => {
  if (wish === 'stop') {
    clearInterval(timer)
    await Promise.all(inFlight)
    for (const { client } of clients) client.close()
  }
  parentPort!.postMessage(samples.splice(0))
  if (wish === 'stop') parentPort!.close()
})
