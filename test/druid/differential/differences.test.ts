import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import type { Answer } from '@svc/shared/testing'
import { seededRandom } from '../../support/random.ts'
import { choicesFrom } from './choices.ts'
import { differences } from './differences.ts'
import { differencesPage } from './differences-page.ts'
import { type Exchange, isSame } from './exchange.ts'
import { randomRequest } from './requests.ts'
import { randomState } from './state.ts'

const serverNames = ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3', '127.0.0.1:4', '127.0.0.1:5', '127.0.0.1:6']

function exchange(endpoint: string, druid: Answer, svc: Answer): Exchange {
  const choices = choicesFrom(seededRandom(1))
  const state = { ...randomState(choices, 0, serverNames), isPlacementFixed: true }
  return { request: { endpoint, method: 'GET', path: '/x' }, druid, svc, state }
}

const answer = (status: number, json: unknown): Answer => ({
  status,
  headers: {},
  text: json === undefined ? '' : JSON.stringify(json),
  json,
})

test('docs/differences.md is up to date', () => {
  const page = readFileSync(path.join(repositoryRoot, 'docs/differences.md'), 'utf8')
  assert.ok(differencesPage() === page, 'write it with npm run test:differential -- --page')
})

test('names of differences are unique', () => {
  const names = differences.map(({ name }) => name)
  assert.deepEqual([...new Set(names)], names)
})

test('the same seed has the same state and requests', () => {
  const draw = () => {
    const choices = choicesFrom(seededRandom(7))
    const state = randomState(choices, 1_780_000_000_000, serverNames)
    const requests = (['change', 'stable', 'settled'] as const).map((kind) =>
      randomRequest(choices, state, kind),
    )
    return { state, requests }
  }
  assert.deepEqual(draw(), draw())
})

describe('two answers', () => {
  const list = 'GET /druid/coordinator/v1/datasources'
  const rules = 'GET /druid/coordinator/v1/rules/:dataSource'

  test('are the same in another order, unless the order means something', () => {
    const [one, other] = [answer(200, ['a', 'b']), answer(200, ['b', 'a'])]
    assert.ok(isSame(exchange(list, one, other)))
    assert.ok(!isSame(exchange(rules, one, other)))
  })

  test('differ by a value', () => {
    assert.ok(!isSame(exchange(list, answer(200, [{ a: 1 }]), answer(200, [{ a: 2 }]))))
  })

  test('differ by their status, and errors only by that', () => {
    assert.ok(isSame(exchange(list, answer(404, { a: 1 }), answer(404, 'x'))))
    assert.ok(!isSame(exchange(list, answer(404, undefined), answer(400, undefined))))
  })
})
