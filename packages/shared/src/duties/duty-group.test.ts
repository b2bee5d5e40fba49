import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createMetrics } from '../metrics/index.ts'
import { recordingLogger, waitUntil } from '../testing/index.ts'
import { createDutyGroup, registerDutyMetrics, rememberedRuns } from './index.ts'

type Run = (term: number) => Promise<object | undefined>

/** Creates a group whose duties record their runs as `name term`. */
function setUp(scope: TestContext, runs: Record<string, Run>, periodMs = 1_000_000) {
  const seen: string[] = []
  const logger = recordingLogger()
  const duties = Object.entries(runs).map(([name, run]) => ({
    name,
    run: (term: number) => {
      seen.push(`${name} ${term}`)
      return run(term)
    },
  }))
  const group = createDutyGroup('SomeDuties', periodMs, duties, logger)
  scope.after(() => group.stop())
  return { group, seen, logger }
}
const nothing: Run = async () => undefined

/** Creates a run that ends when the test releases it. */
function heldRun() {
  let release: () => void = () => undefined
  const held: { run: Run; release: () => void; isRunning: boolean } = {
    isRunning: false,
    run: async () => {
      held.isRunning = true
      await new Promise<void>((resolve) => {
        release = resolve
      })
      held.isRunning = false
      return undefined
    },
    release: () => release(),
  }
  return held
}

describe('a group of duties', () => {
  it('runs its duties in order, immediately and after each period', async (scope) => {
    const { group, seen } = setUp(scope, { first: nothing, second: nothing }, 20)
    assert.deepEqual(seen, [])
    group.start(7)
    await waitUntil('three runs', () => group.status().runs >= 3)
    assert.deepEqual(seen.slice(0, 4), ['first 7', 'second 7', 'first 7', 'second 7'])
  })

  it('returns the time until its next run, which requested runs do not change', async (scope) => {
    const { group } = setUp(scope, { first: nothing })
    assert.equal(group.untilNextRunMs(), 500_000)
    group.start(7)
    await waitUntil('one run', () => group.status().runs === 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    await group.runNow(7)
    const leftMs = group.untilNextRunMs()
    assert.ok(leftMs < 999_981 && leftMs > 900_000, `${leftMs}`)
  })

  it('starts a run one period after the start of the last one, however long that took', async (scope) => {
    const starts: number[] = []
    const { group } = setUp(
      scope,
      {
        slow: async () => {
          starts.push(performance.now())
          await new Promise((resolve) => setTimeout(resolve, 60))
          return undefined
        },
      },
      100,
    )
    group.start(1)
    const between = () => starts.slice(1).map((start, index) => start - starts[index]!)
    // Runs start late while other programs use the processors, so not every run has to be on time.
    await waitUntil('a run in time', () =>
      between()
        .slice(1)
        .some((ms) => ms < 155),
    )
    assert.ok(
      between().every((ms) => ms >= 95),
      String(between()),
    )
  })

  it('counts and logs a failed duty and continues with the next one', async (scope) => {
    const { group, seen, logger } = setUp(
      scope,
      {
        failing: async () => {
          throw new Error('it broke')
        },
        fine: async () => ({ loads: 3 }),
      },
      10,
    )
    group.start(1)
    await waitUntil('two runs', () => group.status().runs >= 2)
    await group.stop()
    assert.deepEqual(seen.slice(0, 2), ['failing 1', 'fine 1'])
    const { failures, runs } = group.status()
    assert.deepEqual(failures, { failing: runs })
    const [failed, again] = logger.having('Duty failed')
    assert.deepEqual(failed?.details, { duty: 'failing', error: 'it broke', failures: 1 })
    assert.equal(again?.details.failures, 2)
    assert.deepEqual(logger.having('Duty completed')[0]?.details, { duty: 'fine', loads: 3 })
  })

  it('survives a duty that throws synchronously', async (scope) => {
    const { group } = setUp(
      scope,
      {
        failing: () => {
          throw new Error('at once')
        },
        fine: nothing,
      },
      10,
    )
    group.start(1)
    await waitUntil('two runs', () => group.status().runs >= 2)
    assert.ok((group.status().failures.failing ?? 0) >= 2)
  })

  it('reports statistics about its runs', async (scope) => {
    const { group } = setUp(scope, { one: nothing, two: nothing }, 2500)
    assert.deepEqual(group.status(), {
      name: 'SomeDuties',
      period: 'PT2.5S',
      dutyNames: ['one', 'two'],
      lastRunStart: null,
      lastRunEnd: null,
      avgRuntimeMillis: 0,
      lastRunMillis: 0,
      runs: 0,
      failures: {},
    })
    group.start(1)
    const status = await waitUntil(
      'a run',
      () => group.status(),
      ({ runs }) => runs === 1,
    )
    const [start, end] = [Date.parse(status.lastRunStart ?? ''), Date.parse(status.lastRunEnd ?? '')]
    assert.ok(end >= start && Math.abs(end - Date.now()) < 60_000)
    assert.ok(Number.isInteger(status.avgRuntimeMillis) && Number.isInteger(status.lastRunMillis))
  })
})

describe('the last runs of a group', () => {
  it('have what each duty did, why it failed, and what has become of its requests', async (scope) => {
    let answered = 0
    const duties = [
      {
        name: 'loads',
        run: async () => ({ loads: 2 }),
        requestsOf: () => ({ decided: 2, sent: 2, retried: 0, answered, failed: 0 }),
      },
      {
        name: 'fails',
        run: async () => {
          throw new Error('it broke')
        },
      },
    ]
    const group = createDutyGroup('SomeDuties', 1_000_000, duties, recordingLogger())
    scope.after(() => group.stop())
    assert.deepEqual(group.history(5), { totalRuns: 0, runs: [], nonIdleRuns: [], lastFailures: [] })
    group.start(1)
    await waitUntil('a run', () => group.status().runs === 1)
    answered = 2
    await group.runNow(1)
    const { runs, nonIdleRuns, lastFailures } = group.history(5)
    const [newest, first] = runs
    assert.deepEqual(nonIdleRuns, runs)
    assert.deepEqual(lastFailures, [{ duty: 'fails', startedAt: newest!.startedAt, error: 'it broke' }])
    assert.deepEqual(group.history(1).runs, [newest])
    assert.ok(newest!.startedAt >= first!.startedAt && newest!.durationMs >= 0)
    assert.deepEqual(
      first!.duties.map(({ durationMs: _, ...run }) => run),
      [
        {
          duty: 'loads',
          did: { loads: 2 },
          error: null,
          requests: { decided: 2, sent: 2, retried: 0, answered: 2, failed: 0 },
        },
        { duty: 'fails', did: null, error: 'it broke' },
      ],
    )
  })
})

describe('the last runs of a group that did something or failed', () => {
  it('are not pushed out by idle runs', async (scope) => {
    let run: Run = async () => ({ loads: 3 })
    const { group } = setUp(scope, { sometimes: (term) => run(term) })
    group.start(1)
    await waitUntil('a run', () => group.status().runs === 1)
    run = async () => {
      throw new Error('it broke')
    }
    await group.runNow(1)
    run = nothing
    for (let count = 0; count < rememberedRuns; count += 1) await group.runNow(1)
    const { totalRuns, runs, nonIdleRuns, lastFailures } = group.history(rememberedRuns)
    assert.equal(totalRuns, rememberedRuns + 2)
    assert.deepEqual([runs[0]!.number, runs.at(-1)!.number], [rememberedRuns + 2, 3])
    assert.deepEqual(
      nonIdleRuns.map(({ number, duties }) => [number, duties[0]!.did, duties[0]!.error]),
      [
        [2, null, 'it broke'],
        [1, { loads: 3 }, null],
      ],
    )
    assert.deepEqual(
      lastFailures.map(({ duty, error }) => [duty, error]),
      [['sometimes', 'it broke']],
    )
  })
})

describe('a frequent duty', () => {
  it('counts every failure, logs the first one, and logs when it works again', async (scope) => {
    let isBroken = true
    const logger = recordingLogger()
    const duty = {
      name: 'often',
      isFrequent: true,
      run: async () => {
        if (isBroken) throw new Error('it broke')
        return undefined
      },
    }
    const group = createDutyGroup('SomeDuties', 5, [duty], logger)
    scope.after(() => group.stop())
    group.start(1)
    await waitUntil('three failures', () => (group.status().failures.often ?? 0) >= 3)
    isBroken = false
    await waitUntil('it works', () => logger.having('Duty recovered').length === 1)
    assert.deepEqual(
      logger.having('Duty failed').map(({ details }) => details),
      [{ duty: 'often', error: 'it broke', failures: 1 }],
    )
  })
})

describe('the metrics of duties', () => {
  it('are reported for each duty, even before its first run', async (scope) => {
    const failing = async () => {
      throw new Error('it broke')
    }
    const { group } = setUp(scope, { fine: nothing, failing })
    const metrics = createMetrics('overlord')
    registerDutyMetrics(metrics, [group])
    const samples = async () =>
      (await metrics.text()).text.split('\n').filter((line) => /^svc_duty_(runs|failures)/.test(line))
    const counted = (runs: number, failures: number) => [
      `svc_duty_runs_total{duty="fine"} ${runs}`,
      `svc_duty_runs_total{duty="failing"} ${runs}`,
      'svc_duty_failures_total{duty="fine"} 0',
      `svc_duty_failures_total{duty="failing"} ${failures}`,
    ]
    assert.deepEqual(await samples(), counted(0, 0))
    group.start(1)
    await waitUntil('a run', () => group.status().runs === 1)
    assert.deepEqual(await samples(), counted(1, 1))
    const { text } = await metrics.text()
    assert.match(text, /^svc_duty_run_seconds_total\{duty="fine"\} /m)
    assert.match(text, /^svc_duty_last_run_seconds\{duty="fine"\} /m)
  })
})

describe('the end of a term', () => {
  it('stops the run after the current duty', async (scope) => {
    const held = heldRun()
    const { group, seen } = setUp(scope, { held: held.run, next: nothing }, 10)
    group.start(1)
    await waitUntil('the duty runs', () => held.isRunning)
    let isStopped = false
    const stopped = group.stop().then(() => {
      isStopped = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isStopped, false)
    held.release()
    await stopped
    assert.deepEqual(seen, ['held 1'])
  })

  it('never lets runs of two terms overlap', async (scope) => {
    const held = heldRun()
    const { group, seen } = setUp(scope, { held: held.run, next: nothing }, 10)
    group.start(1)
    await waitUntil('the duty runs', () => held.isRunning)
    const stopped = group.stop()
    group.start(2)
    await new Promise((resolve) => setTimeout(resolve, 30))
    assert.deepEqual(seen, ['held 1'])
    held.release()
    await stopped
    await waitUntil('the new term runs', () => seen.includes('held 2'))
    held.release()
    await waitUntil('all duties run in the new term', () => seen.includes('next 2'))
    assert.deepEqual(seen.slice(0, 3), ['held 1', 'held 2', 'next 2'])
    assert.equal(seen.includes('next 1'), false)
    await waitUntil('the duty runs again', () => held.isRunning)
    const last = group.stop()
    held.release()
    await last
    const { length } = seen
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(seen.length, length, 'no duty runs after the last stop')
  })

  it('leaves nothing running, even many times in a row', async (scope) => {
    const { group, seen } = setUp(scope, { duty: nothing }, 5)
    for (let term = 1; term <= 10; term++) {
      group.start(term)
      if (term % 2 === 0) await waitUntil('the duty runs', () => seen.includes(`duty ${term}`))
      void group.stop()
    }
    await group.stop()
    const { length } = seen
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(seen.length, length)
  })
})
