// What the console says about faults, and where it draws servers, without a browser.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CallGroup } from '@svc/domain/calls'
import { callRows } from '../console/src/access/call-rows.ts'
import { eventsBetween, type Observation } from '../console/src/faults/recovery-events.ts'
import { rowHeight, type TopologyServer, topologyOf } from '../console/src/faults/topology-layout.ts'

const server = (role: string, name: string): TopologyServer => ({
  role,
  name,
  isLeader: false,
  isMissing: false,
})
const many = (role: string, count: number) =>
  Array.from({ length: count }, (_, index) => server(role, `${role}-${index + 1}:80`))

const group = (from: TopologyServer, to: TopologyServer, more: Partial<CallGroup> = {}): CallGroup => ({
  from,
  to,
  method: 'POST',
  path: '/report',
  tls: true,
  identity: 'svc_system',
  calls: 5,
  failures: 0,
  lastTime: '2026-01-01T00:00:00.000Z',
  lastStatus: 200,
  lastError: null,
  ...more,
})

describe('the topology', () => {
  test('has a box for each server, and one for all servers of a role if there are many', () => {
    const { nodes } = topologyOf(
      [...many('router', 1), ...many('broker', 2), ...many('historical', 1000)],
      [],
    )
    assert.deepEqual(
      nodes.map(({ key, servers }) => [key, servers.length]),
      [
        ['router router-1:80', 1],
        ['broker broker-1:80', 1],
        ['broker broker-2:80', 1],
        ['historical', 1000],
      ],
    )
    assert.equal(nodes.at(-1)!.servers[9]!.name, 'historical-10:80')
  })

  test('draws boxes within its height, without overlaps', () => {
    const servers = [
      'router',
      'coordinator',
      'overlord',
      'broker',
      'historical',
      'virtual',
      'worker',
    ].flatMap((role) => many(role, 5))
    const { nodes, height } = topologyOf(servers, [])
    for (const [, inColumn] of Map.groupBy(nodes, ({ column }) => column)) {
      const centers = inColumn.map(({ y }) => y).sort((a, b) => a - b)
      assert.ok(centers[0]! >= rowHeight / 2 && centers.at(-1)! <= height - rowHeight / 2)
      for (const [index, y] of centers.entries())
        if (index > 0) assert.ok(y - centers[index - 1]! >= rowHeight - 1, `${centers}`)
    }
  })

  test('connects the boxes of servers that call each other, and routers with the servers that they forward to', () => {
    const [router, broker, coordinator] = [
      server('router', 'r:1'),
      server('broker', 'b:1'),
      server('coordinator', 'c:1'),
    ]
    const failing = group(broker, coordinator, { path: '/other', lastStatus: null })
    const calls = [group(broker, coordinator), failing, group(server('', 'x'), coordinator)]
    const { edges } = topologyOf([router, broker, coordinator], calls)
    assert.deepEqual(
      edges.map(({ key, calls: count, isFailing }) => [key, count, isFailing]),
      [
        ['router r:1 → broker b:1', 0, false],
        ['router r:1 → coordinator c:1', 0, false],
        ['broker b:1 → coordinator c:1', 10, true],
      ],
    )
  })
})

describe('what happened between two observations', () => {
  const calm: Observation = {
    servers: new Set(['historical h:1', 'historical h:2']),
    leaders: { coordinator: 'c:1' },
    isReachable: true,
    isSettled: true,
    unserved: 0,
    faults: new Set(),
  }
  const cases: readonly (readonly [
    name: string,
    after: Partial<Observation>,
    expected: readonly RegExp[],
  ])[] = [
    ['nothing', {}, []],
    ['a fault', { faults: new Set(['killed (h:1)']) }, [/^Fault started: killed \(h:1\)\.$/]],
    ['a missing server', { servers: new Set(['historical h:2']) }, [/^Server historical h:1 is missing\.$/]],
    ['a killed leader', { isReachable: false }, [/^The coordinator leader does not respond\.$/]],
    ['another leader', { leaders: { coordinator: 'c:2' } }, [/^The coordinator leader is now c:2\.$/]],
    ['lost segments', { unserved: 3, isSettled: false }, [/^3 segments are not served/, /no longer settled/]],
  ]
  for (const [name, after, expected] of cases) {
    test(name, () => {
      const events = eventsBetween(calm, { ...calm, ...after })
      assert.equal(events.length, expected.length, events.join())
      for (const [index, pattern] of expected.entries()) assert.match(events[index]!, pattern)
    })
  }

  test('names the servers that are back, or counts them if there are many', () => {
    const servers = new Set(Array.from({ length: 9 }, (_, index) => `historical h:${index}`))
    assert.deepEqual(eventsBetween({ ...calm, servers: new Set() }, calm), [
      'Server historical h:1 is back.',
      'Server historical h:2 is back.',
    ])
    assert.deepEqual(eventsBetween({ ...calm, servers: new Set() }, { ...calm, servers }), [
      '9 servers are back.',
    ])
  })
})

test('equal calls of many servers of a role are one row, with the failure of the last call', () => {
  const coordinator = server('coordinator', 'c:1')
  const groups = many('historical', 9).map((historical, index) =>
    group(historical, coordinator, {
      lastTime: `2026-01-01T00:00:0${index}.000Z`,
      ...(index === 8 ? { failures: 1, lastStatus: null, lastError: 'timeout' } : {}),
    }),
  )
  const rows = callRows([...groups, group(server('broker', 'b:1'), coordinator)])
  assert.deepEqual(
    rows.map(({ from, to, request, calls, failures, lastFailure }) => [
      from.role,
      from.names.length,
      to.names,
      request,
      calls,
      failures,
      lastFailure,
    ]),
    [
      ['historical', 9, ['c:1'], 'POST /report', 45, 1, 'timeout'],
      ['broker', 1, ['c:1'], 'POST /report', 5, 0, undefined],
    ],
  )
})
