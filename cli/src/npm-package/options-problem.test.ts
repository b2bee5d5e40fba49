import assert from 'node:assert/strict'
import { test } from 'node:test'
import { optionsProblem, requestToLoad } from './options-problem.ts'
import { startCluster } from './testing.ts'

const invalid: readonly (readonly [unknown, RegExp])[] = [
  [null, /^Invalid options: expected an object$/],
  ['plain', /^Invalid options: expected an object$/],
  [[], /^Invalid options: expected an object$/],
  [{ portOffset: 1000 }, /^Unknown option \[portOffset\]: expected one of \[profile\], /],
  [{ profile: true }, /^Invalid value \[true\] for \[profile\]: expected a string$/],
  [{ historicals: 3 }, /^Invalid value \[3\] for \[historicals\]: expected an object$/],
  [{ instances: ['worker'] }, /^Invalid value \[worker\] for \[instances\]: expected an object$/],
  [{ properties: null }, /^Invalid value \[null\] for \[properties\]: expected an object$/],
  [{ adminPassword: 1234 }, /^Invalid value for \[adminPassword\]: expected a string$/],
  [{ home: 5 }, /^Invalid value \[5\] for \[home\]: expected a string$/],
  [{ readyTimeoutMs: '9' }, /^Invalid value \[9\] for \[readyTimeoutMs\]: expected a positive number$/],
  [{ readyTimeoutMs: 0 }, /^Invalid value \[0\] for \[readyTimeoutMs\]: expected a positive number$/],
]

test('options of the wrong type are rejected, and undefined options are ignored', () => {
  for (const [options, message] of invalid) assert.match(optionsProblem(options) ?? '', message)
  for (const options of [{}, { home: undefined, profile: 'plain', historicals: { hot: 1 } }])
    assert.equal(optionsProblem(options), undefined)
})

// A process without options would keep this one from ending.
test('invalid options start no process', async () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  await assert.rejects(startCluster({ properties: { 'svc.api.aliases': circular } }), /circular/)
  await assert.rejects(startCluster(null as never), /^Error: The cluster did not start: Invalid options/)
  assert.ok(!process.getActiveResourcesInfo().includes('ProcessWrap'))
})

test('loading a snapshot requires a name', () => {
  assert.deepEqual(requestToLoad('one'), { snapshot: 'one' })
  for (const name of [undefined, null, 5])
    assert.throws(() => requestToLoad(name), /for \[name\]: expected a string$/)
})
