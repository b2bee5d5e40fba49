import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type Endpoint, loadRouteTables } from '../support/route-tables.ts'
import { sampleText, shapedBodies } from './shaped-bodies.ts'

let endpoints: Endpoint[]
before(async () => {
  endpoints = (await loadRouteTables()).filter(({ body }) => body)
})

describe('bodies shaped by the schema of their endpoint', () => {
  it('are valid before one value is inflated, and JSON afterward', () => {
    const ajv = new Ajv2020({ strict: false })
    for (const { body, path: route } of endpoints) {
      const isValid = ajv.compile(body!.schema)
      assert.ok(isValid(JSON.parse(sampleText(body!.schema))), `${route}: ${ajv.errorsText(isValid.errors)}`)
      for (const { name, text } of shapedBodies(body!.schema))
        assert.doesNotThrow(() => JSON.parse(text(4096)), `${route} ${name}`)
    }
  })

  it('have valid documents with many members, to measure the cost after validation', () => {
    const ajv = new Ajv2020({ strict: false })
    for (const { body, path: route } of endpoints) {
      const bodies = shapedBodies(body!.schema)
      const isValid = ajv.compile(body!.schema)
      const lists = bodies.filter(({ name }) => /: (identical|distinct) members/.test(name))
      const valid = lists.filter(({ text }) => isValid(JSON.parse(text(4096))))
      assert.ok(valid.length >= lists.length * 0.9, `${route}: ${valid.length} of ${lists.length}`)
    }
  })

  it('have lists with at most the allowed number of members', () => {
    const schema = { type: 'array', items: { type: 'string' }, maxItems: 3 }
    const lists = shapedBodies(schema).filter(({ name }) => /members/.test(name))
    assert.deepEqual(
      lists.map(({ name, text }) => [name, text(1000)]),
      [
        ['body: identical members', '["x0","x0","x0"]'],
        ['body: distinct members', '["x0","x1","x2"]'],
      ],
    )
  })
})
