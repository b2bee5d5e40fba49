import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseOptions } from '../cluster-options/index.ts'
import { homeLayout } from '../home/index.ts'
import { reservePortOffset } from './free-ports.ts'
import { planCluster, portsInUse } from './plan-cluster.ts'

test('clusters that start at the same time reserve different ports', async (context) => {
  const reservations = await Promise.all(Array.from({ length: 40 }, () => reservePortOffset()))
  context.after(() => {
    for (const { release } of reservations) release()
  })
  const surroundings = { home: homeLayout('.'), dataFolder: '' }
  const ports = reservations.flatMap(({ portOffset }) =>
    portsInUse(planCluster(parseOptions({ portOffset }), surroundings)).map(({ port }) => port),
  )
  assert.equal(new Set(ports).size, ports.length)
})
