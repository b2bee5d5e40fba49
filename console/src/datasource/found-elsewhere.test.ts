import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foundElsewhere } from './found-elsewhere.ts'

const searched = {
  dataSources: ['sales 2026'],
  screens: [
    { path: '/tiers', label: 'Tiers' },
    { path: '/sql', label: 'SQL' },
  ],
  hosts: Array.from({ length: 12 }, (_, index) => `hot-${12 - index}.example:8083`),
  tasks: ['kill_b_2026-02-01T00:00:00.000Z', 'kill_a_2026-01-01T00:00:00.000Z'],
  users: ['narrow', 'admin/sql'],
}
const find = (text: string) =>
  foundElsewhere(text, searched).map(({ kind, links, more }) => [kind, links.map(({ href }) => href), more])

for (const [text, ...expected] of [
  ['SQ', ['Screens', ['/sql'], 0], ['Users', ['/access/user/admin%2Fsql'], 0]],
  ['sales', ['Datasources', ['/datasources/sales%202026'], 0]],
  ['ql', ['Users', ['/access/user/admin%2Fsql'], 0]],
  [' HOT-12', ['Servers', ['/tiers/hot-12.example%3A8083'], 0]],
  [
    'kill',
    ['Tasks', ['/runs/kill_b_2026-02-01T00%3A00%3A00.000Z', '/runs/kill_a_2026-01-01T00%3A00%3A00.000Z'], 0],
  ],
  ['nothing'],
  [' '],
] as const)
  test(`finds ${JSON.stringify(expected)} for ${JSON.stringify(text)}`, () => {
    assert.deepEqual(find(text), expected)
  })

test('lists the first servers in the order of their numbers, and counts the others', () => {
  const [servers] = foundElsewhere('example', searched)
  assert.deepEqual(
    servers!.links.slice(0, 3).map(({ label }) => label),
    ['hot-1.example:8083', 'hot-2.example:8083', 'hot-3.example:8083'],
  )
  assert.equal(servers!.links.length + servers!.more, 12)
})
