import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLogEntry } from './index.ts'

const entry = { timestamp: '2026-01-01T00:00:00.000Z', level: 'warn', message: 'Skipped rows' }

test('reads an entry, without the fields that are the same in every entry of a log', () => {
  const sent = { ...entry, rows: 3, server: '127.0.0.1:8100', service: 'svc/peon', file: 'a b.csv' }
  assert.deepEqual(parseLogEntry(JSON.stringify(sent)), { ...entry, details: { rows: 3, file: 'a b.csv' } })
})

const otherLines = [
  '',
  '  at run (peon.ts:3)',
  'ddle of an entry"}',
  JSON.stringify(entry).slice(0, -5),
  // Programs may log JSON, too.
  '{"no":"message"}',
  '{"level":"info","message":"without a time"}',
  '{"timestamp":1767225600,"level":"info","message":"with a time in seconds"}',
  '{"timestamp":"2026-01-01T00:00:00.000Z","level":30,"message":"with a numeric level"}',
]
for (const line of otherLines)
  test(`a line that is not an entry: ${line}`, () => assert.equal(parseLogEntry(line), undefined))
