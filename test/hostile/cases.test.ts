import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { seededRandom } from '../support/random.ts'
import { type Endpoint, loadRouteTables } from '../support/route-tables.ts'
import {
  callers,
  callersOf,
  describeCase,
  type HostileCase,
  largeCases,
  sampleCases,
  sampleStoredCases,
  smallCases,
  storedCases,
} from './cases.ts'
import { fittingSize } from './fit-limits.ts'
import { classesOf } from './input-classes.ts'
import { pairwise } from './pairwise.ts'
import { windowsOf } from './run-cases.ts'
import { requestOf } from './send-case.ts'
import { storedStates } from './stored-states.ts'

let endpoints: Endpoint[]
before(async () => {
  endpoints = await loadRouteTables()
})

const endpointOf = ({ endpoint: { role, method, path } }: Pick<HostileCase, 'endpoint'>): string =>
  `${role} ${method} ${path}`

describe('pairwise', () => {
  for (const factors of [[3, 4], [5, 2, 4, 2], [60, 4, 2], [1, 1, 3], [7]]) {
    it(`has every pair of ${factors.join(' x ')} values, in few rows`, () => {
      const rows = pairwise(factors.map((count) => Array.from({ length: count })))
      for (const [left, leftCount] of factors.entries())
        for (const [right, rightCount] of factors.entries())
          if (left < right) {
            const pairs = new Set(rows.map((row) => `${row[left]} ${row[right]}`))
            assert.equal(pairs.size, leftCount * rightCount)
          }
      const [max = 0, second = 0] = [...factors].sort((a, b) => b - a)
      assert.ok(rows.length <= max * second * 1.5, `${rows.length} rows`)
    })
  }
})

describe('hostile cases', () => {
  it('cover every class, size, and caller of each endpoint up to 64 KiB', () => {
    const cases = smallCases(endpoints)
    const seen = new Set(
      cases
        .filter(({ way }) => way === 'direct')
        .map((one) => `${endpointOf(one)} ${one.inputClass.name} ${one.caller}`),
    )
    for (const endpoint of endpoints)
      for (const inputClass of classesOf(endpoint))
        for (const caller of callersOf(inputClass))
          assert.ok(
            seen.has(`${endpointOf({ endpoint })} ${inputClass.name} ${caller}`),
            `${endpointOf({ endpoint })} ${inputClass.name}`,
          )
  })

  it('have one caller exactly if they have a login of their own', () => {
    for (const endpoint of endpoints)
      for (const inputClass of classesOf(endpoint)) {
        const hasOwnLogin = inputClass.build(1024).headers?.authorization !== undefined
        assert.equal(callersOf(inputClass).length, hasOwnLogin ? 1 : callers.length, inputClass.name)
      }
  })

  it('cover every pair of class, caller, and way of each body, and every class at the limit', () => {
    const cases = largeCases(endpoints)
    for (const endpoint of endpoints.filter(({ body }) => body)) {
      const own = cases.filter((one) => one.endpoint === endpoint)
      const classes = classesOf(endpoint).filter(({ part }) => part === 'body')
      assert.equal(
        new Set(own.map(({ inputClass, caller }) => `${inputClass.name} ${caller}`)).size,
        classes.length * 4,
      )
      const atLimit = own.filter(({ sizeBytes }) => sizeBytes === endpoint.body!.limitBytes)
      assert.equal(new Set(atLimit.map(({ inputClass }) => inputClass.name)).size, classes.length)
    }
  })

  it('include bodies just within the limits of values, names, and depth', () => {
    const endpoint = endpoints.find(
      ({ method, path }) => `${method} ${path}` === 'POST /svc/coordinator/v1/config',
    )!
    const limited = { ...endpoint, body: { ...endpoint.body!, maxValues: 1000, maxNames: 100, maxDepth: 10 } }
    const classOf = (name: string) => classesOf(limited).find((one) => one.name === name)!
    const sizeOf = (name: string): number => fittingSize(classOf(name), limited)!
    const built = (name: string): unknown => JSON.parse(classOf(name).build(sizeOf(name)).body!.toString())
    const elements = (built('many elements') as unknown[]).length
    assert.ok(elements > 900 && elements < 1000, String(elements))
    const keys = Object.keys(built('many keys') as object).length
    assert.ok(keys > 80 && keys <= 110, String(keys))
    assert.ok(sizeOf('deep lists') < 30, String(sizeOf('deep lists')))
    assert.equal(sizeOf('long string'), limited.body.limitBytes)
  })

  it('have unique names within an endpoint', () => {
    for (const endpoint of endpoints) {
      const names = classesOf(endpoint).map(({ name }) => name)
      assert.equal(new Set(names).size, names.length, endpointOf({ endpoint }))
    }
  })

  it('have about the size that they claim, and are never much larger', () => {
    for (const endpoint of endpoints.filter(({ body }) => body)) {
      for (const inputClass of classesOf(endpoint)) {
        if (inputClass.part !== 'body' || inputClass.name === 'gzip bomb') continue
        const { body } = inputClass.build(65_536)
        assert.ok(
          body!.length <= 65_536 * 2.1,
          `${endpointOf({ endpoint })} ${inputClass.name}: ${body!.length}`,
        )
      }
    }
  })

  it('cover every endpoint and every shared class in a sample, which is the same for the same seed', () => {
    const digestOf = (seed: number): string => {
      const hash = createHash('sha256')
      const sample = sampleCases(endpoints, seededRandom(seed))
      for (const hostile of sample.filter(({ sizeBytes }) => sizeBytes <= 65_536)) {
        const { body, ...head } = requestOf(hostile)
        hash
          .update(describeCase(hostile))
          .update(JSON.stringify(head))
          .update(body ?? '')
      }
      return hash.digest('hex')
    }
    assert.equal(digestOf(7), digestOf(7))
    assert.notEqual(digestOf(7), digestOf(8))
    const sample = sampleCases(endpoints, seededRandom(7))
    assert.equal(
      new Set(sample.map(endpointOf)).size,
      new Set(endpoints.map((endpoint) => endpointOf({ endpoint }))).size,
    )
    const shared = (names: readonly { readonly isShaped: boolean; readonly name: string }[]) =>
      new Set(
        names.filter(({ isShaped, name }) => !isShaped && !/^parameter /.test(name)).map(({ name }) => name),
      )
    assert.deepEqual(shared(sample.map(({ inputClass }) => inputClass)), shared(endpoints.flatMap(classesOf)))
  })

  it('include every GET endpoint of the coordinator and overlord for each large thing that is stored', () => {
    const [all, sample] = [storedCases(endpoints), sampleStoredCases(endpoints, seededRandom(7))]
    assert.equal(sample.length, storedStates.length)
    for (const [index, cases] of sample.entries()) {
      assert.deepEqual(new Set(cases.map(endpointOf)), new Set(all[index]!.map(endpointOf)))
      assert.equal(cases.length, new Set(cases.map(endpointOf)).size)
    }
  })

  it('are sent to one server in groups if they are small, and alone if they are large', () => {
    const windows = windowsOf(sampleCases(endpoints, seededRandom(7)))
    for (const window of windows) {
      assert.equal(new Set(window.map(({ endpoint }) => endpoint.role)).size, 1)
      assert.ok(window.length === 1 || window.every(({ sizeBytes }) => sizeBytes <= 65_536))
    }
    assert.ok(windows.some(({ length }) => length === 64))
  })
})
