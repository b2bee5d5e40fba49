import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import type { RuleJson } from '@svc/domain/rules'
import { curlOf } from './curl.ts'

const target = { origin: 'https://router.example:9088', user: 'ada', authorityFile: null }
const noNote = { author: '', comment: '' }

/** Runs a command with a curl that prints its arguments, one per line, and its standard input. */
const runWith = (command: string): string =>
  execFileSync('sh', { input: `curl() { printf '%s\\n' "$@"; cat; }\n${command}`, encoding: 'utf8' })

const periods = (count: number): RuleJson[] =>
  Array.from({ length: count }, (_, index) => ({ type: 'dropByPeriod', period: `P${index + 1}D` }))

test('passes a few rules as an argument', () => {
  const rules = periods(2)
  const command = curlOf("o'reilly", rules, { author: 'Ada', comment: "it's time" }, target)
  assert.deepEqual(runWith(`${command} </dev/null`).split('\n').slice(0, -1), [
    '-sS',
    '--cacert',
    '.svc/pki/authority.pem',
    '-u',
    'ada',
    '-H',
    'Content-Type: application/json',
    '-H',
    'X-Svc-Author: Ada',
    '-H',
    "X-Svc-Comment: it's time",
    '--data',
    JSON.stringify(rules),
    "https://router.example:9088/svc/coordinator/v1/rules/o'reilly",
  ])
})

test('passes rules on standard input if they are too long for an argument', () => {
  const rules = periods(20_000)
  const printed = runWith(curlOf('wikipedia', rules, noNote, target))
  assert.match(printed, /^--data\n@-$/m)
  assert.deepEqual(JSON.parse(printed.slice(printed.indexOf('[{'))), rules)
})

test('sends exactly what it shows', () => {
  const reversed = 'a\u202eb'
  const rules: RuleJson[] = [{ type: 'loadForever', tieredReplicants: { [reversed]: 1 } }]
  const command = curlOf('wikipedia', rules, { author: reversed, comment: reversed }, target)
  assert.doesNotMatch(command, /\u202e/)
  assert.match(command, /X-Svc-Author: a␣b/)
  const printed = runWith(`${command} </dev/null`)
  assert.deepEqual(JSON.parse(/^\[.*\]$/m.exec(printed)![0]), rules)
})

test('omits login and TLS options if the cluster uses neither', () => {
  const command = curlOf('wikipedia', [], noNote, {
    ...target,
    origin: 'http://localhost:8888',
    user: undefined,
  })
  assert.match(command, /^curl -sS \\\n/)
})
