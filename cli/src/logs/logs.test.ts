import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { lastErrorIn, lastLines, showLogs } from './index.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'svc-logs-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const entry = (second: number, level: string, message: string, details: object = {}) =>
  JSON.stringify({
    timestamp: `2026-01-01T00:00:0${second}.000Z`,
    level,
    service: 'svc/x',
    message,
    ...details,
  })

const errors: { name: string; lines: string[]; expect: string | undefined }[] = [
  { name: 'nothing', lines: [], expect: undefined },
  { name: 'nothing wrong', lines: [entry(1, 'info', 'Ready')], expect: undefined },
  {
    name: 'the last error with its reason',
    lines: [
      entry(1, 'error', 'Old'),
      entry(2, 'error', 'Failed', { error: 'no room' }),
      entry(3, 'info', 'On'),
    ],
    expect: 'Failed: no room',
  },
  {
    name: 'plain text at the end',
    lines: [entry(1, 'error', 'Old'), 'Invalid configuration (1 problem):', '  a: Unknown property [svc.x]'],
    expect: 'Invalid configuration (1 problem):\n  a: Unknown property [svc.x]',
  },
  {
    name: 'the last FATAL of Postgres',
    lines: [
      '2026-01-01 00:00:00.000 UTC [1] FATAL:  could not write lock file: No space left on device',
      '2026-01-01 00:00:00.001 UTC [1] LOG:  database system is shut down',
    ],
    expect: 'could not write lock file: No space left on device',
  },
  {
    name: 'the port that Postgres cannot listen on',
    lines: [
      '2026-01-01 00:00:00.000 UTC [1] LOG:  could not bind IPv4 address "127.0.0.1": Address already in use',
      '2026-01-01 00:00:00.000 UTC [1] HINT:  Is another postmaster already running on port 15432? If not, wait a few seconds and retry.',
      '2026-01-01 00:00:00.000 UTC [1] WARNING:  could not create listen socket for "127.0.0.1"',
      '2026-01-01 00:00:00.000 UTC [1] FATAL:  could not create any TCP/IP sockets',
      '2026-01-01 00:00:00.006 UTC [1] LOG:  database system is shut down',
    ],
    expect: 'could not bind IPv4 address "127.0.0.1": Address already in use (port 15432)',
  },
  {
    name: 'ignores an incomplete line, whatever follows it',
    lines: [
      entry(1, 'info', 'Ready'),
      `${entry(2, 'error', 'Failed').slice(0, 60)}${entry(3, 'error', 'Torn')}`,
      entry(4, 'warn', 'Slow').slice(0, 50),
    ],
    expect: undefined,
  },
  {
    name: 'an entry before an incomplete line',
    lines: [entry(1, 'error', 'Failed', { error: 'no room' }), entry(2, 'info', 'On').slice(0, 50)],
    expect: 'Failed: no room',
  },
  {
    name: 'an uncaught error',
    lines: ['node:internal/x:1', 'Error [ERR_X]: Cannot find module y', '    at a (b:1)', '}', 'Node.js v26'],
    expect: 'Error [ERR_X]: Cannot find module y',
  },
]

for (const { name, lines, expect } of errors) {
  test(`the last error: ${name}`, () => assert.equal(lastErrorIn(lines), expect))
}

test('reads the last lines after a byte, and at most 64 KB', () => {
  const file = path.join(folder, 'x.log')
  assert.deepEqual(lastLines(file), [])
  writeFileSync(file, 'one\ntwo\n\nthree\n')
  assert.deepEqual(lastLines(file), ['one', 'two', 'three'])
  assert.deepEqual(lastLines(file, 4), ['two', 'three'])
  assert.deepEqual(lastLines(file, 1000), [])
  writeFileSync(file, `${'x'.repeat(70_000)}\nlast\n`)
  assert.deepEqual(lastLines(file), ['last'])
})

/** A request, and the lines that it shows. */
function collecting(role?: string) {
  const shown: string[] = []
  const request = {
    folder,
    role,
    lines: 2,
    follow: false,
    asLogged: false,
    write: (text: string) => {
      shown.push(text.trimEnd())
    },
    isRead: () => true,
  }
  return { shown, request }
}

test('shows the last lines of all logs in chronological order', async () => {
  writeFileSync(
    path.join(folder, 'a.log'),
    `${entry(0, 'info', 'cut')}\n${entry(1, 'info', 'one')}\n${entry(4, 'warn', 'four', { id: 7 })}\n`,
  )
  writeFileSync(path.join(folder, 'postgres.log'), '2026-01-01 00:00:02.000 UTC [1] LOG:  two\n')
  writeFileSync(path.join(folder, 'b-1.log'), `${entry(3, 'error', 'three')}\n  at its stack\n`)
  const { shown, request } = collecting()
  await showLogs(request)
  assert.deepEqual(shown, [
    '2026-01-01T00:00:01.000Z INFO  a: one',
    'postgres: 2026-01-01 00:00:02.000 UTC [1] LOG:  two',
    '2026-01-01T00:00:03.000Z ERROR b-1: three',
    'b-1:   at its stack',
    '2026-01-01T00:00:04.000Z WARN  a: four {"id":7}',
  ])
})

test('a role selects its instances, an instance only itself, and anything else is rejected', async () => {
  for (const instance of ['historical-1', 'historical-2', 'router']) {
    writeFileSync(path.join(folder, `${instance}.log`), `${entry(1, 'info', instance)}\n`)
  }
  const byRole = collecting('historical')
  await showLogs(byRole.request)
  assert.equal(byRole.shown.length, 2)
  const byInstance = collecting('historical-2')
  await showLogs({ ...byInstance.request, asLogged: true })
  assert.deepEqual(byInstance.shown, [entry(1, 'info', 'historical-2')])
  await assert.rejects(showLogs(collecting('peon').request), {
    code: 'notFound',
    message: 'There is no log for [peon]: expected one of [historical-1], [historical-2], [router]',
  })
})

test('follows new lines, even after the log is rotated', async () => {
  const file = path.join(folder, 'a.log')
  writeFileSync(file, `${entry(1, 'info', 'one')}\n`)
  const { shown, request } = collecting('a')
  const steps = [
    () => appendFileSync(file, `${entry(2, 'info', 'two')}\n${entry(3, 'info', 'thr').slice(0, 40)}`),
    () => appendFileSync(file, `${entry(3, 'info', 'three').slice(40)}\n`),
    () => {
      renameSync(file, `${file}.1`)
      writeFileSync(file, `${entry(4, 'info', 'four')}\n`)
    },
  ]
  await showLogs({
    ...request,
    follow: true,
    // Called before each poll: takes the next step once the previous one is shown.
    isRead: () => {
      if (shown.length >= 4) return false
      steps.shift()?.()
      return true
    },
  })
  assert.deepEqual(
    shown.map((line) => line.split(' ').at(-1)),
    ['one', 'two', 'three', 'four'],
  )
})
