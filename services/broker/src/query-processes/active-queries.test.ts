import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ActiveQueries, type ActiveQuery } from './active-queries.ts'

/** Adds a running query, and returns how often it had to yield. */
function addQuery(queries: ActiveQueries, id: number, cpuMs: () => number | undefined): () => number {
  let yields = 0
  const query: ActiveQuery = {
    id,
    owner: { caller: `caller ${id}`, weight: 1 },
    state: 'running',
    runMs: 0,
    turnMs: 0,
    listener: { suspend: () => undefined, resume: () => undefined, cpuMs, yieldToOthers: () => yields++ },
    yields: false,
    start: () => undefined,
    refuse: () => undefined,
    ending: new AbortController(),
  }
  queries.add(query)
  return () => yields
}

describe('a query gets a lower priority', () => {
  it('based on its CPU time, however much others slow it down', () => {
    const queries = new ActiveQueries()
    let cpuMs = 100
    const short = addQuery(queries, 1, () => 100)
    const expensive = addQuery(queries, 2, () => cpuMs)
    queries.passTime(60_000)
    assert.deepEqual([short(), expensive()], [0, 0])
    cpuMs = 300
    queries.passTime(50)
    queries.passTime(50)
    assert.deepEqual([short(), expensive()], [0, 1])
  })

  it('later if it is the only one', () => {
    const queries = new ActiveQueries()
    let cpuMs = 1900
    const yields = addQuery(queries, 1, () => cpuMs)
    queries.passTime(50)
    assert.equal(yields(), 0)
    cpuMs = 2000
    queries.passTime(50)
    assert.equal(yields(), 1)
  })

  it('based on its run time if the system does not report CPU time', () => {
    const queries = new ActiveQueries()
    const yields = addQuery(queries, 1, () => undefined)
    queries.passTime(1999)
    assert.equal(yields(), 0)
    queries.passTime(1)
    assert.equal(yields(), 1)
  })
})
