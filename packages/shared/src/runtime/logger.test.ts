import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { recordingLogger } from '../testing/index.ts'
import { createProblemLog, createReadiness } from './index.ts'

describe('a persistent problem', () => {
  it('is logged immediately, when it changes, at growing intervals otherwise, and when it is over', (context) => {
    let now = 1000
    const clock = mock.method(performance, 'now', () => now)
    context.after(() => clock.mock.restore())
    const logger = recordingLogger()
    const problemLog = createProblemLog(logger)
    const logFor = (seconds: number, message: string) => {
      for (let second = 0; second < seconds; second++) {
        problemLog.report(message)
        now += 1000
      }
    }
    problemLog.over('nothing was')
    logFor(71, 'first')
    const afterMs = [0, 10, 30, 70]
    assert.equal(logger.having('first').length, afterMs.length)
    logFor(5, 'second')
    assert.equal(logger.having('second').length, 1)
    problemLog.over('it is over')
    problemLog.over('it is over')
    logFor(1, 'second')
    assert.deepEqual(
      logger.lines.map(({ level, message }) => `${level} ${message}`),
      [...afterMs.map(() => 'warn first'), 'warn second', 'info it is over', 'warn second'],
    )
  })

  it('is logged at least every ten minutes', (context) => {
    let now = 1000
    const clock = mock.method(performance, 'now', () => now)
    context.after(() => clock.mock.restore())
    const logger = recordingLogger()
    const problemLog = createProblemLog(logger)
    const hours = 24
    for (let second = 0; second < hours * 3600; second += 10) {
      problemLog.report('lasting')
      now += 10_000
    }
    const { length } = logger.lines
    assert.ok(length >= hours * 6 - 2 && length <= hours * 6 + 8, String(length))
  })
})

describe('readiness', () => {
  it('is reached once, and reports current problems', () => {
    const readiness = createReadiness()
    assert.equal(readiness.isReady(), false)
    readiness.markReady()
    readiness.setProblem('a', 'one thing')
    readiness.setProblem('b', 'another')
    assert.equal(readiness.isReady(), true)
    assert.equal(readiness.problems(), 'one thing; another')
    readiness.setProblem('a', 'something else')
    assert.equal(readiness.problems(), 'something else; another')
    readiness.setProblem('a', undefined)
    readiness.setProblem('b', undefined)
    assert.equal(readiness.problems(), '')
  })
})
