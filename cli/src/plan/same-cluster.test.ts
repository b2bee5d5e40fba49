import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertSameCluster } from './same-cluster.ts'

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
    test(`at ${planned} ${isSame ? 'can' : 'cannot'} be applied at ${present}`, () => {
      const check = () => assertSameCluster({ id: 'x', cluster: planned }, { routerUrl: present })
      if (isSame) check()
      else assert.throws(check, { message: `Plan [x] is for [${planned}], not for [${present}]` })
    })
})
