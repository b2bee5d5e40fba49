import assert from 'node:assert/strict'
import { test } from 'node:test'
import { responseContext } from './response-context.ts'

const header = 'X-Svc-Response-Context'

test('reports segments that are not loaded, in ASCII', () => {
  assert.deepEqual(responseContext({}), {})
  assert.deepEqual(responseContext({ wiki: 2, ö: 1 }), {
    [header]: '{"segmentsNotLoaded":{"wiki":2,"\\u00f6":1}}',
  })
})

test('leaves out datasources that do not fit, and says so', () => {
  const names = Array.from({ length: 60 }, (_, index) => `${'x'.repeat(100)}${index}`)
  const text = responseContext(Object.fromEntries(names.map((name) => [name, 1])))[header]!
  const { segmentsNotLoaded, truncated } = JSON.parse(text)
  assert.ok(text.length <= 4096 && text.length > 3900, `${text.length}`)
  assert.equal(truncated, true)
  assert.deepEqual(Object.keys(segmentsNotLoaded), names.slice(0, Object.keys(segmentsNotLoaded).length))
})

test('takes time linear in the number of datasources', () => {
  const names = Array.from({ length: 10_000 }, (_, index) => `datasource-${index}`)
  const startedAt = performance.now()
  responseContext(Object.fromEntries(names.map((name) => [name, 1])))
  // 20 s if the header is formatted again for each datasource that does not fit.
  assert.ok(performance.now() - startedAt < 2000)
})
