import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { testSettings } from '../testing/index.ts'
import { createLogger } from './create-logger.ts'

describe('the log', () => {
  it('consists of JSON lines with timestamp, level, service, and server', (context) => {
    const lines: string[] = []
    const written = mock.method(console, 'log', (line: string) => lines.push(line))
    context.after(() => written.mock.restore())
    const logger = createLogger(testSettings('broker', { 'svc.log.level': 'info' }), 'host:8082')
    logger.info('Loaded segment', { segment: 'a "b"\nc', count: 3 })
    logger.error('It failed', { error: 'why' })
    logger.debug('not logged')
    assert.equal(lines.length, 2)
    assert.ok(lines.every((line) => !line.includes('\n')))
    const [first, second] = lines.map((line) => JSON.parse(line))
    assert.ok(Math.abs(Date.parse(first.timestamp) - Date.now()) < 60_000)
    const { timestamp, ...entry } = first
    assert.deepEqual(entry, {
      level: 'info',
      message: 'Loaded segment',
      service: 'svc/broker',
      server: 'host:8082',
      segment: 'a "b"\nc',
      count: 3,
    })
    assert.equal(second.level, 'error')
  })
})
