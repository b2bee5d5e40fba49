import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logLines } from './log-lines.ts'

test('shows log entries as time, level, message, and other fields, and leaves other lines as they are', () => {
  const entry = {
    level: 'warn',
    message: 'Skipped rows',
    rows: 3,
    server: '127.0.0.1:8100',
    service: 'svc/peon',
    file: 'a b.csv',
    timestamp: '2026-01-01T00:00:00.000Z',
  }
  const log = [
    'ddle of an entry"}',
    JSON.stringify(entry),
    '',
    '{"no":"message"}',
    '  at run (peon.ts:3)',
    '',
  ]
  assert.deepEqual(logLines(log.join('\n')), [
    { message: 'ddle of an entry"}' },
    {
      time: '2026-01-01T00:00:00.000Z',
      level: 'warn',
      message: 'Skipped rows',
      details: 'rows=3 file=a b.csv',
    },
    { message: '{"no":"message"}' },
    { message: '  at run (peon.ts:3)' },
  ])
  assert.deepEqual(logLines(''), [])
})
