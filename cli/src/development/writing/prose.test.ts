import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProse } from './prose.ts'

const cases: readonly [text: string, prose: boolean][] = [
  ['The user exists', true],
  ['not ready', true],
  ['no TLS', true],
  [`HTTP status [\${…}]`, true],
  ['Only a single SELECT statement is allowed', true],
  [`[\${…}] queries run`, true],
  ['ready', false],
  [`\${…} \${…}`, false],
  ['SELECT name FROM users', false],
  [`\${…} = true`, false],
  [`CAST(\${…} AS BIGINT)`, false],
  ['text/plain; charset=utf-8', false],
  ['svc.auth.authenticator.<name>.type', false],
  ['TABLE_CATALOG TABLE_SCHEMA', false],
  ['daemonize no', false],
  ['-----BEGIN CERTIFICATE-----', false],
  ["img-src 'self' data:", false],
  ['public, max-age=31536000, immutable', false],
  ["redis.call('DEL', KEYS[1])\nreturn 0", false],
  ['read -r _; kill -KILL "$1"', false],
  ['\nbody { font: 15px system-ui; }', false],
  ['.list tbody a, .elsewhere a', false],
  ['.svc next to ./svc', true],
  ['FORMAT parquet, COMPRESSION zstd', false],
  [`(\${…}) AS input`, false],
]
for (const [text, prose] of cases) {
  test(`[${text}] is ${prose ? 'prose' : 'for machines'}`, () => assert.equal(isProse(text), prose))
}
