import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { notFound, unavailable } from '@svc/domain/failure'
import { assertSameCluster } from './same-cluster.ts'

/** A cluster at a URL. */
const clusterAt = (
  routerUrl: string,
  answer: () => unknown = () => ({ id: 'one' }),
  interfaceName: 'svc' | 'druid' = 'svc',
) => ({ routerUrl, interfaceName, send: async () => answer() })

describe('a plan for a cluster', () => {
  const rows: [planned: string, present: string, isSame: boolean][] = [
    ['https://localhost:9088', 'https://127.0.0.1:9088', true],
    ['https://127.0.0.1:9088/', 'https://[::1]:9088', true],
    ['https://druid.example.com', 'https://druid.example.com:443/', true],
    ['https://localhost:9088', 'https://localhost:10088', false],
    ['https://localhost:9088', 'http://localhost:9088', false],
    ['https://druid.example.com:9088', 'https://localhost:9088', false],
  ]
  for (const [planned, present, isSame] of rows)
    test(`at ${planned} ${isSame ? 'can' : 'cannot'} be applied at ${present}`, async () => {
      const check = assertSameCluster({ id: 'x', cluster: planned, clusterId: 'one' }, clusterAt(present))
      if (isSame) await check
      else await assert.rejects(check, { message: `Plan [x] is for [${planned}], not for [${present}]` })
    })

  const url = 'https://localhost:9088'
  const refuse = (failure: Error) => () => {
    throw failure
  }

  test('cannot be applied to another cluster at the same URL', async () => {
    await assert.rejects(assertSameCluster({ id: 'x', cluster: url, clusterId: 'other' }, clusterAt(url)), {
      message: `Plan [x] is for cluster [other], but the cluster at [${url}] is [one]`,
    })
  })

  const unknown: [name: string, present: ReturnType<typeof clusterAt>][] = [
    ['of Druid', clusterAt(url, refuse(new Error('Druid has no such endpoint')), 'druid')],
    ['of an earlier version', clusterAt(url, refuse(notFound('No such endpoint')))],
  ]
  for (const [name, present] of unknown)
    test(`can be applied without the ID ${name}`, () =>
      assertSameCluster({ id: 'x', cluster: url, clusterId: 'other' }, present))

  test('can be applied if it has no ID', () => assertSameCluster({ id: 'x', cluster: url }, clusterAt(url)))

  test('is not applied if the ID cannot be checked', async () => {
    const check = assertSameCluster(
      { id: 'x', cluster: url, clusterId: 'one' },
      clusterAt(url, refuse(unavailable('The connection was lost'))),
    )
    await assert.rejects(check, /The connection was lost/)
  })
})
