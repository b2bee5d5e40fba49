import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  type ActiveQuery,
  type CallerQueries,
  isLong,
  joiningUse,
  nextStep,
  refusedQuery,
  type SchedulingLimits,
  type SchedulingStep,
} from './index.ts'

const limits: SchedulingLimits = {
  maxRunning: 3,
  maxSuspended: 3,
  maxActivePerCaller: 2,
  maxRunMsPerCaller: 60_000,
  shortMs: 250,
  turnMs: 2000,
}

/** Queries of a caller in short notation: waiting ids, and `id:runMs` or `id:runMs:turnMs` for active queries. */
function queriesOf(
  caller: string,
  given: { waiting?: number[]; running?: string[]; suspended?: string[]; used?: number; weight?: number },
): CallerQueries {
  const active = (text: string): ActiveQuery => {
    const [id = 0, runMs = 0, turnMs = runMs] = text.split(':').map(Number)
    return { id, runMs, turnMs, maxRunMs: undefined }
  }
  return {
    caller,
    weight: given.weight ?? 1,
    usedMs: given.used ?? 0,
    waiting: given.waiting ?? [],
    running: (given.running ?? []).map(active),
    suspended: (given.suspended ?? []).map(active),
  }
}

describe('nextStep', () => {
  const cases: readonly [
    name: string,
    callers: readonly CallerQueries[],
    expected: string,
    limits?: Partial<SchedulingLimits>,
  ][] = [
    ['does nothing without callers', [], ''],
    ['starts the query that arrived first', [queriesOf('a', { waiting: [1, 2] })], 'start a 1'],
    [
      'starts the query of the caller who has used less',
      [queriesOf('a', { waiting: [1], used: 10 }), queriesOf('b', { waiting: [2], used: 9 })],
      'start b 2',
    ],
    [
      'starts the query of the caller who has used less of its share',
      [queriesOf('a', { waiting: [1], used: 10, weight: 2 }), queriesOf('b', { waiting: [2], used: 9 })],
      'start a 1',
    ],
    [
      'alternates between callers who arrive at the same time',
      [queriesOf('a', { waiting: [2], running: ['1:0'] }), queriesOf('b', { waiting: [3] })],
      'start b 3',
    ],
    [
      'makes a caller wait that has reached its limit of active queries',
      [queriesOf('a', { waiting: [3], running: ['1:0', '2:0'] })],
      '',
    ],
    [
      'counts suspended queries as active',
      [
        queriesOf('a', { waiting: [3], running: ['1:0'], suspended: ['2:300'] }),
        queriesOf('b', { running: ['4:0', '5:0'] }),
      ],
      '',
    ],
    [
      'waits for a short query to end',
      [queriesOf('a', { running: ['1:900', '2:900'] }), queriesOf('b', { running: ['3:10'], waiting: [4] })],
      '',
    ],
    [
      'suspends the newest query of the heaviest caller if all are long and another one waits',
      [
        queriesOf('a', { running: ['1:900', '2:300'], used: 1200 }),
        queriesOf('b', { running: ['3:400'], used: 400 }),
        queriesOf('c', { waiting: [4] }),
      ],
      'suspend a 2',
    ],
    [
      'suspends a second query if half of the processes are reserved and another query waits',
      [
        queriesOf('a', { running: ['1:900', '2:300'], used: 1200 }),
        queriesOf('b', { running: ['3:400'], used: 400 }),
        queriesOf('c', { running: ['4:10'], waiting: [5] }),
      ],
      'suspend a 2',
      { maxRunning: 4 },
    ],
    [
      'lets long queries use all processes while no query waits',
      [queriesOf('a', { running: ['1:900', '2:300'] }), queriesOf('b', { running: ['3:400'] })],
      '',
    ],
    [
      'rejects a long query if no more queries can be suspended',
      [
        queriesOf('a', { running: ['1:900'], suspended: ['2:300', '5:1', '6:1'], used: 9000 }),
        queriesOf('b', { running: ['3:400', '7:400'] }),
        queriesOf('c', { waiting: [4] }),
      ],
      'reject a 1',
    ],
    [
      'starts no query of a caller with long queries if no more queries can be suspended',
      [
        queriesOf('a', { running: ['1:900'], suspended: [], waiting: [9] }),
        queriesOf('b', { suspended: ['3:400', '7:400', '8:400'], running: ['2:300', '10:300'] }),
      ],
      '',
    ],
    [
      'resumes a query instead of starting one of a caller who has used more',
      [
        queriesOf('a', { waiting: [1], running: ['5:10'], used: 800 }),
        queriesOf('b', { suspended: ['2:300'], used: 100 }),
      ],
      'resume b 2',
    ],
    [
      'does not resume a query in the last process while another waits',
      [
        queriesOf('a', { waiting: [1], used: 800 }),
        queriesOf('b', { suspended: ['2:300'], used: 100 }),
        queriesOf('c', { running: ['3:300', '4:300'] }),
      ],
      'start a 1',
    ],
    [
      'resumes a query in the last process while no query waits',
      [queriesOf('b', { suspended: ['2:300'] }), queriesOf('c', { running: ['3:300', '4:300'] })],
      'resume b 2',
    ],
    [
      'suspends a query whose turn is over to resume one of a caller who has used less',
      [
        queriesOf('a', { running: ['1:9000:2000', '2:9000:10'], used: 18_000 }),
        queriesOf('b', { suspended: ['3:300'], running: ['4:300'], used: 600 }),
      ],
      'suspend a 1 for b 3',
    ],
    [
      'does not suspend a query for another one of the same caller',
      [
        queriesOf('a', { running: ['1:9000:2000', '2:9000:10'], suspended: ['3:300'], used: 18_000 }),
        queriesOf('b', { running: ['4:300'], used: 600 }),
      ],
      '',
    ],
    [
      'ends the longest query of a caller who exceeds the time limit',
      [queriesOf('a', { running: ['1:20000'], suspended: ['2:40000'] })],
      'expire a 2',
    ],
    [
      'ends a query that exceeds its own limit',
      [{ ...queriesOf('a', {}), running: [{ id: 1, runMs: 1000, turnMs: 0, maxRunMs: 1000 }] }],
      'expire a 1',
    ],
    [
      'waits for the running query on a broker with one process',
      [queriesOf('a', { running: ['1:90000'] }), queriesOf('b', { waiting: [2] })],
      '',
      { maxRunning: 1, maxActivePerCaller: 1, maxRunMsPerCaller: 1e9 },
    ],
  ]
  for (const [name, callers, expected, other] of cases) {
    it(name, () => {
      const step = nextStep({ callers, limits: { ...limits, ...other } })
      const resumed = step?.resumed ? ` for ${step.resumed.caller} ${step.resumed.id}` : ''
      assert.equal(step ? `${step.kind} ${step.caller} ${step.id}${resumed}` : '', expected)
    })
  }
})

describe('refusedQuery', () => {
  const cases: readonly [
    name: string,
    callers: readonly CallerQueries[],
    joined: string,
    expected: string,
  ][] = [
    ['refuses nobody before that', [queriesOf('a', { waiting: [1, 2, 3] })], 'a', ''],
    ['refuses the caller who has too many', [queriesOf('a', { waiting: [1, 2, 3, 4] })], 'a', 'a 4 caller'],
    [
      'rejects the newest query of the caller with the most waiting queries',
      [
        queriesOf('a', { waiting: [1, 2, 3] }),
        queriesOf('b', { waiting: [4, 6] }),
        queriesOf('c', { waiting: [7] }),
      ],
      'c',
      'a 3 all',
    ],
    [
      'rejects the query that has just arrived if no caller has more',
      [
        queriesOf('a', { waiting: [1, 2] }),
        queriesOf('b', { waiting: [3, 4] }),
        queriesOf('c', { waiting: [6, 7] }),
      ],
      'c',
      'c 7 all',
    ],
    [
      'takes weights into account',
      [queriesOf('a', { waiting: [1, 2, 3], weight: 3 }), queriesOf('b', { waiting: [4, 5, 6] })],
      'a',
      'b 6 all',
    ],
  ]
  for (const [name, callers, joined, expected] of cases) {
    it(name, () => {
      const refused = refusedQuery(callers, joined, { maxQueued: 5, maxQueuedPerCaller: 3 })
      assert.equal(refused ? `${refused.caller} ${refused.id} ${refused.limit}` : '', expected)
    })
  }
})

const tickMs = 50

interface SimulatedQuery {
  readonly id: number
  readonly caller: string
  readonly needsMs: number
  readonly arrivedAtMs: number
  state: 'waiting' | 'running' | 'suspended' | 'rejected' | 'done'
  startedAtMs: number | undefined
  runMs: number
  turnMs: number
}

/** A broker with queries of known duration. */
class SimulatedBroker {
  readonly queries: SimulatedQuery[] = []
  readonly usedMs = new Map<string, number>()
  nowMs = 0
  private readonly limits: SchedulingLimits
  private readonly weights: Readonly<Record<string, number>>

  constructor(changed: Partial<SchedulingLimits>, weights: Readonly<Record<string, number>> = {}) {
    this.limits = { ...limits, maxRunMsPerCaller: Number.POSITIVE_INFINITY, ...changed }
    this.weights = weights
  }

  send(caller: string, needsMs: number): SimulatedQuery {
    const before = this.callers()
    if (!before.some((one) => one.caller === caller))
      this.usedMs.set(caller, joiningUse(before, this.weights[caller] ?? 1))
    const query: SimulatedQuery = {
      id: this.queries.length,
      caller,
      needsMs,
      arrivedAtMs: this.nowMs,
      state: 'waiting',
      startedAtMs: undefined,
      runMs: 0,
      turnMs: 0,
    }
    this.queries.push(query)
    this.settle()
    return query
  }

  pass(ms: number): void {
    for (const end = this.nowMs + ms; this.nowMs < end; ) {
      this.nowMs += tickMs
      for (const query of this.queries) {
        if (query.state !== 'running') continue
        query.runMs += tickMs
        query.turnMs += tickMs
        this.usedMs.set(query.caller, (this.usedMs.get(query.caller) ?? 0) + tickMs)
        if (query.runMs >= query.needsMs) query.state = 'done'
      }
      this.settle()
    }
  }

  private callers(): CallerQueries[] {
    const open = this.queries.filter(({ state }) => state !== 'done' && state !== 'rejected')
    return [...new Set(open.map(({ caller }) => caller))].map((caller) => {
      const active = (wanted: string) =>
        open
          .filter((query) => query.caller === caller && query.state === wanted)
          .map((query) => ({ ...query, maxRunMs: undefined }))
      return {
        caller,
        weight: this.weights[caller] ?? 1,
        usedMs: this.usedMs.get(caller) ?? 0,
        waiting: active('waiting').map(({ id }) => id),
        running: active('running'),
        suspended: active('suspended'),
      }
    })
  }

  private settle(): void {
    for (let steps = 0; ; steps += 1) {
      assert.ok(steps < 1000, 'scheduling does not settle')
      const step = nextStep({ callers: this.callers(), limits: this.limits })
      if (step === undefined) break
      this.apply(step)
    }
    this.check()
  }

  private apply({ kind, caller, id, resumed }: SchedulingStep): void {
    const query = this.queries[id] as SimulatedQuery
    if (kind === 'start' || kind === 'resume') {
      assert.equal(query.state, kind === 'start' ? 'waiting' : 'suspended')
      Object.assign(query, { state: 'running', turnMs: 0, startedAtMs: query.startedAtMs ?? this.nowMs })
    } else {
      assert.equal(query.state, 'running')
      assert.ok(isLong(query, this.limits), 'only long queries make room')
      assert.equal(query.caller, caller)
      query.state = kind === 'suspend' ? 'suspended' : 'rejected'
      if (resumed) this.apply({ kind: 'resume', ...resumed })
    }
  }

  /** Checks what must be true whenever there is no next step. */
  private check(): void {
    const callers = this.callers()
    const { maxRunning, maxActivePerCaller, maxSuspended } = this.limits
    const running = callers.flatMap((one) => one.running)
    const suspended = callers.flatMap((one) => one.suspended)
    assert.ok(running.length <= maxRunning)
    assert.ok(suspended.length <= maxSuspended)
    for (const one of callers) assert.ok(one.running.length + one.suspended.length <= maxActivePerCaller)
    const mayStart = callers.filter(
      (one) => one.waiting.length > 0 && one.running.length + one.suspended.length === 0,
    )
    if (running.length < maxRunning) {
      assert.equal(suspended.length, 0, 'a suspended query waits although a process is free')
      assert.equal(mayStart.length, 0, 'a query waits although a process is free')
    }
    // Half of the processes are reserved for short queries, so a caller without active queries waits at most for a short one.
    const short = running.filter((query) => !isLong(query, this.limits))
    if (mayStart.length > 0) assert.ok(short.length >= Math.floor(maxRunning / 2))
  }
}

const endless = Number.POSITIVE_INFINITY

describe('scheduling', () => {
  it('never leaves a query waiting forever', () => {
    const sent = fc.record({
      caller: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      needsMs: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 20_000 })),
      pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3000 })),
    })
    const changed = fc.record({
      maxRunning: fc.integer({ min: 1, max: 5 }),
      maxSuspended: fc.integer({ min: 1, max: 6 }),
      maxActivePerCaller: fc.integer({ min: 1, max: 5 }),
    })
    fc.assert(
      fc.property(changed, fc.array(sent, { maxLength: 40 }), (limitsOfRun, requests) => {
        const broker = new SimulatedBroker(limitsOfRun)
        let totalMs = 0
        for (const { caller, needsMs, pauseMs } of requests) {
          broker.send(caller, needsMs)
          broker.pass(pauseMs)
          totalMs += needsMs + tickMs
        }
        // A single process could finish everything in this time.
        broker.pass(totalMs)
        for (const { state } of broker.queries) assert.ok(state === 'done' || state === 'rejected')
      }),
      { numRuns: 200 },
    )
  })

  it('shares processes by weight', () => {
    const broker = new SimulatedBroker({ maxRunning: 2, maxActivePerCaller: 1 }, { heavy: 2 })
    for (const caller of ['a', 'b', 'heavy']) broker.send(caller, endless)
    broker.pass(600_000)
    const [a = 0, b = 0, heavy = 0] = ['a', 'b', 'heavy'].map((caller) => broker.usedMs.get(caller))
    assert.ok(Math.abs(a / b - 1) < 0.05, `a ${a}, b ${b}`)
    assert.ok(Math.abs(heavy / a - 2) < 0.1, `heavy ${heavy}, a ${a}`)
  })

  it('starts a short query soon despite many long ones', () => {
    const broker = new SimulatedBroker({ maxRunning: 4, maxSuspended: 4, maxActivePerCaller: 3 })
    for (const caller of ['a', 'b', 'c'])
      for (let count = 0; count < 60; count += 1) broker.send(caller, endless)
    broker.pass(5000)
    for (let round = 0; round < 50; round += 1) {
      const query = broker.send('healthy', 100)
      broker.pass(1000)
      assert.equal(query.state, 'done')
      const waitedMs = (query.startedAtMs ?? endless) - query.arrivedAtMs
      assert.ok(waitedMs <= limits.shortMs, `waited ${waitedMs} ms`)
    }
  })

  it('gives no advantage to a caller who leaves and comes back', () => {
    const broker = new SimulatedBroker({ maxRunning: 1, maxActivePerCaller: 1 })
    for (let count = 0; count < 100; count += 1) broker.send('stays', 200)
    for (let count = 0; count < 100; count += 1) {
      broker.send('comes and goes', 200)
      broker.pass(200)
    }
    const [stays = 0, comes = 0] = ['stays', 'comes and goes'].map((caller) => broker.usedMs.get(caller))
    assert.ok(Math.abs(stays / comes - 1) < 0.1, `stays ${stays}, comes and goes ${comes}`)
  })
})
