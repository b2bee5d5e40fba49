import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foundElsewhere } from './found-elsewhere.ts'

const screens = [
  { path: '/tiers', label: 'Tiers' },
  { path: '/sql', label: 'SQL' },
]
const hosts = Array.from({ length: 12 }, (_, index) => `hot-${index + 1}.example:8083`)
const find = (text: string) => foundElsewhere(text, screens, hosts)

test('finds screens by the start of their names, and servers by any part', () => {
  assert.deepEqual(find('SQ'), { screens: [screens[1]], hosts: [], moreHosts: 0 })
  assert.deepEqual(find('ql').screens, [])
  assert.deepEqual(find(' HOT-12').hosts, ['hot-12.example:8083'])
})

test('lists the first servers in the order of their numbers, and counts the others', () => {
  const found = find('example')
  assert.deepEqual(found.hosts.slice(0, 3), [
    'hot-1.example:8083',
    'hot-2.example:8083',
    'hot-3.example:8083',
  ])
  assert.equal(found.hosts.length + found.moreHosts, 12)
})

test('finds nothing without a text', () => {
  assert.deepEqual(find(' '), { screens: [], hosts: [], moreHosts: 0 })
})
