import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boxHeight, type TopologyServer, topologyOf } from './topology-layout.ts'

const server = (role: string, name: string): TopologyServer => ({
  role,
  name,
  isLeader: false,
  isMissing: false,
})

const call = (from: TopologyServer, to: TopologyServer) => ({ from, to, calls: 1, lastStatus: 200 }) as never

test('leads the arrows around the boxes of the columns that they pass', () => {
  const names = ['1', '2', '3', '4', '5']
  const [brokers, historicals, workers, coordinators, overlords] = [
    ['broker', names],
    ['historical', names],
    ['worker', names],
    ['coordinator', ['1', '2', '3']],
    ['overlord', ['1', '2']],
  ].map(([role, list]) => (list as string[]).map((name) => server(role as string, `${role}-${name}`)))
  const { nodes, edges } = topologyOf(
    [
      server('router', 'router-1'),
      ...brokers!,
      ...historicals!,
      ...workers!,
      ...coordinators!,
      ...overlords!,
    ],
    [
      ...brokers!.flatMap((from) => historicals!.map((to) => call(from, to))),
      ...workers!.flatMap((from) => overlords!.map((to) => call(from, to))),
    ],
  )
  const passes = edges.flatMap((edge) => edge.passes)
  // Over the coordinators: all calls to historicals and overlords. Over brokers and overlords: routers to coordinators.
  assert.equal(passes.length, 25 + 10 + 3)
  for (const { column, y } of passes)
    for (const node of nodes.filter((one) => one.column === column))
      assert.ok(Math.abs(node.y - y) > boxHeight / 2, `${y} is behind ${node.key} at ${node.y}`)
})
