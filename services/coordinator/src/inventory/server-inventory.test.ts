import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { copyFlag } from '@svc/domain/inventory'
import { ReportLog, readReport, ServedSegments, type ServerReport } from '@svc/shared/segment-serving'
import { fc } from '@svc/shared/testing'
import { type PendingRequest, ServerInventory } from './index.ts'

const silenceMs = 10_000
const timeoutMs = 60_000

/** A data server that reports the way its process does. */
class Reporter {
  readonly name: string
  served = new ServedSegments()
  log = new ReportLog(this.served)
  term = 0
  private voidUntilMs = 0
  private standbyLogs = new Map<ServerInventory, ReportLog>()

  constructor(name: string) {
    this.name = name
  }

  /** Restarts the server. It serves what is on disk again and forgets everything else. */
  restart(): void {
    const ids = this.served.ids()
    this.served = new ServedSegments()
    for (const id of ids) this.served.add(id)
    this.log = new ReportLog(this.served)
    this.standbyLogs = new Map()
    this.term = 0
    this.voidUntilMs = 0
  }

  report(given: Partial<ServerReport> = {}): ServerReport {
    const report = {
      name: this.name,
      process: this.name,
      type: 'historical' as const,
      tier: 'hot',
      priority: 0,
      maxSizeBytes: 100,
      usedSizeBytes: this.served.ids().length,
      term: this.term,
      voidUntilMs: this.voidUntilMs,
      ...this.log.next(),
      ...given,
    }
    // The leader receives the report as JSON.
    return readReport(JSON.parse(JSON.stringify({ servers: [report] })), '').servers[0] ?? assert.fail()
  }

  /** Sends a report to the leader. The report or its answer may get lost. */
  send(
    inventory: ServerInventory,
    term: number,
    nowMs: number,
    lost: 'report' | 'answer' | 'nothing' = 'nothing',
  ): void {
    const report = this.report()
    if (lost === 'report') return
    const answer = inventory.take([report], term, nowMs)
    if (lost === 'answer') return
    if (answer.term > this.term) this.voidUntilMs = 0
    this.term = Math.max(this.term, answer.term)
    this.voidUntilMs = Math.max(this.voidUntilMs, answer.voidUntilMs[this.name] ?? 0)
    if (answer.resync.includes(this.name)) this.log.refused(answer.resyncFrom?.[this.name])
    else this.log.taken(report)
  }

  /** Sends a report to a coordinator that is not the leader. The report or its answer may get lost. */
  sendToStandby(
    inventory: ServerInventory,
    nowMs: number,
    lost: 'report' | 'answer' | 'nothing' = 'nothing',
  ): void {
    const log = this.standbyLogs.get(inventory) ?? new ReportLog(this.served)
    this.standbyLogs.set(inventory, log)
    const report = this.report(log.next())
    if (lost === 'report') return
    const resync = inventory.takeAsStandby([report], nowMs)
    if (lost === 'answer') return
    if (resync.includes(this.name)) log.refused()
    else log.taken(report)
  }

  /** Reports until the leader knows everything. */
  sync(inventory: ServerInventory, term: number, nowMs = 0): void {
    for (let times = 0; times < 3; times++) this.send(inventory, term, nowMs)
  }
}

const requested = (action: 'load' | 'drop', sentAtMs = 0, sizeBytes = 5): PendingRequest => ({
  action,
  sizeBytes,
  sentAtMs,
})

function setUp(...ids: string[]) {
  const failures: string[] = []
  const changes: string[] = []
  const answers: string[] = []
  const inventory = new ServerInventory(silenceMs, {
    onAnswer: (sentAtMs, isFailed) => answers.push(`${sentAtMs} ${isFailed ? 'failed' : 'done'}`),
    onFailure: ({ name }, { id, message }) => failures.push(`${name} ${id} ${message}`),
    onCopyChange: ({ name }, { id }, change) => changes.push(`${name} ${id} ${change}`),
  })
  const server = new Reporter('a')
  for (const id of ids) server.served.add(id)
  server.sync(inventory, 1)
  const state = () => inventory.get('a') ?? assert.fail('the server is unknown')
  const planned = (nowMs = 0) => {
    const [seen = assert.fail()] = inventory.loadingServers(nowMs)
    const { copies, rowLimit } = inventory.table
    const withFlags = (flags: number) => {
      const rows = Array.from({ length: rowLimit }, (_, row) => row)
      const found = rows.filter((row) => (copies.flags(row, seen.number) & flags) !== 0)
      return new Set(found.map((row) => inventory.table.idOf(row)))
    }
    return {
      ...seen,
      loading: withFlags(copyFlag.loading),
      dropping: withFlags(copyFlag.dropping | copyFlag.refused),
    }
  }
  return { inventory, server, failures, changes, answers, state, planned }
}

describe('a report', () => {
  it('with the complete list makes a server known', () => {
    const { state } = setUp('s', 't')
    const { name, process, type, tier, maxSizeBytes, usedSizeBytes } = state()
    assert.deepEqual(
      [name, process, type, tier, maxSizeBytes, usedSizeBytes],
      ['a', 'a', 'historical', 'hot', 100, 2],
    )
    assert.deepEqual([...state().served], ['s', 't'])
  })

  it('with changes is accepted if it continues the known state', () => {
    const { inventory, server, state } = setUp('s')
    server.served.add('t')
    server.served.remove('s')
    server.send(inventory, 1, 0)
    assert.deepEqual([...state().served], ['t'])
  })

  it('names historicals that have not reported all their segments yet', () => {
    const inventory = new ServerInventory(silenceMs)
    const [first, second] = ['p-1', 'p-2'].map((name) => new Reporter(name)) as [Reporter, Reporter]
    const line = ({ name }: Reporter) => ({ name, process: 'p', tier: 'hot' })
    const report = (server: Reporter, term: number) => server.report({ process: 'p', term })
    const awaited = () => inventory.awaited().map(({ name }) => name)
    inventory.take([report(first, 0)], 1, 0, [line(second)])
    assert.deepEqual(
      awaited(),
      ['p-2', 'p-1'],
      'one report is rejected because its server does not know this leader yet',
    )
    inventory.take([report(first, 1)], 1, 0, [line(second)])
    assert.deepEqual(awaited(), ['p-2'])
    inventory.take([], 1, 0)
    assert.deepEqual(awaited(), ['p-2'], 'another process has reported')
    inventory.take([report(second, 1)], 1, 0)
    assert.deepEqual(awaited(), [])
    inventory.take([report(first, 0)], 1, 0)
    assert.deepEqual(awaited(), [], 'known servers stay known')
  })

  it('with awaited historicals is valid while its process reports and for one leader only', () => {
    const inventory = new ServerInventory(silenceMs)
    const line = { name: 'p-1', process: 'p', tier: 'hot' }
    inventory.take([], 1, 0, [line])
    inventory.expire(silenceMs, timeoutMs)
    assert.deepEqual(inventory.awaited(), [line])
    inventory.expire(silenceMs + 1, timeoutMs)
    assert.deepEqual(inventory.awaited(), [])
    inventory.take([], 1, 0, [line, { ...line, name: 'p-2' }])
    inventory.forgetGone(['p-2', 'p-2'])
    assert.deepEqual(inventory.awaited(), [line])
    inventory.reset()
    assert.deepEqual(inventory.awaited(), [])
  })

  it('announces loaded, moved, and dropped replicas once', () => {
    const { inventory, server, changes } = setUp('s')
    const other = new Reporter('b')
    other.sync(inventory, 1)
    inventory.note('a', new Map([['moved', { ...requested('load'), replaces: 'b' }]]))
    server.served.add('t')
    server.served.add('moved')
    server.served.remove('s')
    const report = { ...server.report(), term: 1 }
    for (let times = 0; times < 2; times++) inventory.take([report], 1, 0)
    assert.deepEqual(changes, ['a t loaded', 'a moved moved', 'a s dropped'])
  })

  const refused: readonly [
    name: string,
    change: (report: ServerReport) => Partial<ServerReport>,
    wanted: 'list' | 'changes',
  ][] = [
    ['with a gap in the changes', ({ from }) => ({ from: from + 1 }), 'changes'],
    ['with changes that were already accepted', () => ({ from: 0 }), 'changes'],
    ['with changes from another session', () => ({ session: 'other' }), 'list'],
    ['from an unknown server', () => ({ name: 'b' }), 'list'],
    ['from a server that does not know this leader', () => ({ term: 0 }), 'changes'],
    ['from a server that knows a later leader', () => ({ term: 2 }), 'changes'],
  ]
  for (const [name, change, wanted] of refused) {
    it(`${name} changes nothing and is answered with a request for ${wanted === 'list' ? 'the complete list' : 'the missing changes'}`, () => {
      const { inventory, server, state } = setUp('s')
      server.served.add('t')
      const report = server.report()
      const changed = { ...report, ...change(report) }
      assert.deepEqual(inventory.take([changed], 1, 5), {
        term: 1,
        resync: [changed.name],
        ...(wanted === 'list' ? {} : { resyncFrom: { a: 1 } }),
        voidUntilMs: {},
      })
      assert.deepEqual([...state().served], ['s'])
      assert.equal(state().lastReportAtMs, 0)
    })
  }

  it('can cover several servers, some of which must send their complete list', () => {
    const inventory = new ServerInventory(silenceMs)
    const [known, unknown] = [new Reporter('known'), new Reporter('unknown')]
    known.sync(inventory, 1)
    unknown.sync(new ServerInventory(silenceMs), 1)
    assert.deepEqual(inventory.take([known.report(), unknown.report()], 1, 0).resync, ['unknown'])
  })

  it('updates the properties of a server', () => {
    const { inventory, server, state } = setUp()
    inventory.take([server.report({ tier: 'cold', priority: 9, maxSizeBytes: 7, usedSizeBytes: 3 })], 1, 50)
    const { tier, priority, maxSizeBytes, usedSizeBytes, lastReportAtMs } = state()
    assert.deepEqual([tier, priority, maxSizeBytes, usedSizeBytes, lastReportAtMs], ['cold', 9, 7, 3, 50])
  })
})

describe('requests', () => {
  it('are pending until the server has loaded or dropped the segment', () => {
    const { inventory, server, state, planned } = setUp('old')
    inventory.note(
      'a',
      new Map([
        ['new', requested('load', 0, 7)],
        ['old', requested('drop')],
      ]),
    )
    server.send(inventory, 1, 0)
    assert.deepEqual([...planned().loading], ['new'])
    assert.deepEqual([...planned().dropping], ['old'])
    assert.equal(planned().loadingSizeBytes, 7)
    server.served.add('new')
    server.send(inventory, 1, 0)
    assert.deepEqual([...state().pending.keys()], ['old'])
    server.served.remove('old')
    server.send(inventory, 1, 0)
    assert.equal(state().pending.size, 0)
  })

  it('from before a restart of the server are discarded', () => {
    const { inventory, server, state } = setUp('s')
    inventory.note('a', new Map([['t', requested('load')]]))
    server.restart()
    server.sync(inventory, 1)
    assert.equal(state().pending.size, 0)
    assert.deepEqual([...state().served], ['s'])
  })

  it('to a server that is gone are not recorded', () => {
    const { inventory } = setUp()
    inventory.note('gone', new Map([['s', requested('load')]]))
    inventory.voidPendingOf('gone')
    assert.equal(inventory.get('gone'), undefined)
  })

  it('time out and are forgotten once the server confirms that it ignores them', () => {
    const { inventory, server, state } = setUp()
    inventory.note(
      'a',
      new Map([
        ['early', requested('load', 1)],
        ['late', requested('load', 1000)],
      ]),
    )
    server.send(inventory, 1, timeoutMs)
    assert.deepEqual(inventory.expire(timeoutMs, timeoutMs), [])
    server.sync(inventory, 1, timeoutMs)
    assert.equal(state().pending.size, 2)
    inventory.expire(timeoutMs + 2, timeoutMs)
    assert.equal(state().pending.size, 2)
    assert.deepEqual(inventory.take([server.report()], 1, timeoutMs).voidUntilMs, { a: 1 })
    server.sync(inventory, 1, timeoutMs)
    assert.deepEqual([...state().pending.keys()], ['late'])
  })

  it('to a server that was forgotten are revoked before its reports count again', () => {
    const { inventory, server, state } = setUp('s')
    inventory.note('a', new Map([['s', requested('drop', 5)]]))
    assert.deepEqual(inventory.expire(silenceMs + 1, timeoutMs), ['a'])
    const answer = inventory.take([server.report()], 1, silenceMs + 2)
    assert.deepEqual([answer.resync, answer.voidUntilMs], [['a'], { a: 5 }])
    assert.equal(inventory.get('a'), undefined, 'the server may still drop the segment')
    server.sync(inventory, 1, silenceMs + 3)
    assert.deepEqual([[...state().served], state().pending.size], [['s'], 0])
    assert.deepEqual(inventory.take([server.report()], 1, silenceMs + 4).voidUntilMs, {})
  })

  it('to a server that was forgotten are not revoked once it has restarted', () => {
    const { inventory, server, state } = setUp('s')
    inventory.note('a', new Map([['s', requested('drop', 5)]]))
    inventory.expire(silenceMs + 1, timeoutMs)
    server.restart()
    server.term = 1
    assert.deepEqual(inventory.take([server.report()], 1, silenceMs + 2).resync, [])
    assert.deepEqual([...state().served], ['s'])
  })

  for (const [how, lose] of [
    ['with the queues', (inventory: ServerInventory) => assert.equal(inventory.voidPending(), 1)],
    ['in transit', (inventory: ServerInventory) => inventory.voidPendingOf('a')],
  ] as const)
    it(`that may have been lost ${how} are forgotten when the server confirms that it ignores them`, () => {
      const { inventory, server, state } = setUp()
      inventory.note('a', new Map([['lost', requested('load', performance.now())]]))
      lose(inventory)
      inventory.note('a', new Map([['asked since', requested('load', performance.now() + 1000)]]))
      for (const lost of ['report', 'answer', 'nothing'] as const) server.send(inventory, 1, 0, lost)
      assert.deepEqual(
        [...state().pending.keys()],
        ['lost', 'asked since'],
        'the server has not confirmed yet',
      )
      server.send(inventory, 1, 0)
      assert.deepEqual([...state().pending.keys()], ['asked since'])
      assert.equal(inventory.voidPending(), 1)
    })
})

describe('the answer to a request', () => {
  it('is reported once, with the time at which the request was sent', () => {
    const { inventory, server, answers } = setUp('old')
    inventory.note('a', new Map([['new', requested('load', 10)]]))
    inventory.note('a', new Map([['old', requested('drop', 20)]]))
    inventory.note('a', new Map([['broken', requested('load', 30)]]))
    server.served.add('new')
    server.served.remove('old')
    server.log.noteFailure({ id: 'broken', action: 'load', message: 'no' })
    server.send(inventory, 1, 100, 'answer')
    server.sync(inventory, 1, 100)
    assert.deepEqual(answers, ['10 done', '20 done', '30 failed'])
  })

  it('is reported if a complete list shows it', () => {
    const { inventory, server, answers } = setUp()
    inventory.note('a', new Map([['new', requested('load', 10)]]))
    server.served.add('new')
    server.sync(inventory, 1, 100)
    assert.deepEqual(answers, ['10 done'])
  })

  it('counts as retried if a server failed the same segment before', () => {
    const { inventory, server } = setUp()
    const other = new Reporter('b')
    other.sync(inventory, 1)
    const load = (name: string) => inventory.note(name, new Map([['s', requested('load')]]))
    assert.equal(load('a'), 0)
    server.log.noteFailure({ id: 's', action: 'load', message: 'no' })
    server.send(inventory, 1, 0)
    assert.equal(load('b'), 1)
    assert.equal(load('a'), 1)
  })
})

describe('a failure', () => {
  const failing = (id: string, action: 'load' | 'drop' = 'load') => ({ id, action, message: 'no' })

  it('completes its request, is announced once, and blocks new requests for a while', () => {
    const { inventory, server, failures, state, planned } = setUp()
    inventory.note('a', new Map([['s', requested('load')]]))
    server.log.noteFailure(failing('s'))
    server.send(inventory, 1, 1000, 'answer')
    server.sync(inventory, 1, 1000)
    assert.deepEqual(failures, ['a s no'])
    assert.equal(state().pending.size, 0)
    assert.deepEqual([...planned(1000).dropping], ['s'])
    assert.deepEqual([...planned(5999).dropping], ['s'])
    assert.deepEqual([...planned(6000).dropping], [])
  })

  it('that repeats blocks requests for twice as long, up to five minutes', () => {
    const { inventory, server, planned } = setUp()
    let nowMs = 0
    const waits: number[] = []
    for (let times = 0; times < 9; times++) {
      inventory.note('a', new Map([['s', requested('load', nowMs)]]))
      server.log.noteFailure(failing('s'))
      server.send(inventory, 1, nowMs)
      const from = nowMs
      while (planned(nowMs).dropping.has('s')) nowMs += 5000
      waits.push((nowMs - from) / 1000)
    }
    assert.deepEqual(waits, [5, 10, 20, 40, 80, 160, 300, 300, 300])
  })

  it('is forgotten when the server serves the segment after all or after a long time', () => {
    const { inventory, server, planned } = setUp()
    const fail = (nowMs: number) => {
      inventory.note('a', new Map([['s', requested('load', nowMs)]]))
      server.log.noteFailure(failing('s'))
      server.send(inventory, 1, nowMs)
    }
    const waitAfter = (nowMs: number) => {
      for (let waitMs = 0; ; waitMs += 5000) if (!planned(nowMs + waitMs).dropping.has('s')) return waitMs
    }
    fail(0)
    inventory.note('a', new Map([['s', requested('load', 6000)]]))
    server.served.add('s')
    server.send(inventory, 1, 6000)
    server.served.remove('s')
    server.send(inventory, 1, 6000)
    fail(7000)
    assert.equal(waitAfter(7000), 5000)
    server.send(inventory, 1, 400_000)
    inventory.expire(400_000, timeoutMs)
    fail(400_001)
    assert.equal(waitAfter(400_001), 5000)
  })

  it('without a matching request is ignored', () => {
    const { inventory, server, failures } = setUp()
    inventory.note('a', new Map([['s', requested('drop')]]))
    server.log.noteFailure(failing('s', 'load'))
    server.log.noteFailure(failing('t'))
    server.send(inventory, 1, 0)
    assert.deepEqual(failures, [])
  })
})

describe('a server that stopped reporting', () => {
  it('is forgotten after the timeout and known again after it reports its complete list', () => {
    const { inventory, server } = setUp('s')
    assert.deepEqual(inventory.expire(silenceMs, timeoutMs), [])
    assert.deepEqual(inventory.expire(silenceMs + 1, timeoutMs), ['a'])
    assert.deepEqual(inventory.servers(), [])
    server.send(inventory, 1, silenceMs + 2)
    assert.deepEqual(inventory.servers(), [], 'reporting only changes is not enough')
    server.sync(inventory, 1, silenceMs + 2)
    assert.deepEqual([...(inventory.get('a')?.served ?? [])], ['s'])
  })
})

describe('servers for planning', () => {
  it('exclude clones, which are listed with their source servers', () => {
    const inventory = new ServerInventory(silenceMs)
    for (const name of ['a', 'b', 'c']) new Reporter(name).sync(inventory, 1)
    const parts = {
      leaving: new Set<string>(),
      clones: new Map([
        ['b', 'a'],
        ['c', 'away'],
        ['unknown', 'a'],
      ]),
    }
    assert.deepEqual(
      inventory.loadingServers(0, parts).map(({ name }) => name),
      ['a'],
    )
    assert.deepEqual(
      inventory.clones(0, parts).map(({ target, source }) => [target.name, source]),
      [
        ['b', inventory.get('a')?.number],
        ['c', undefined],
      ],
    )
  })

  it('are the reporting servers, with decommissioning ones marked', () => {
    const inventory = new ServerInventory(silenceMs)
    for (const name of ['a', 'b']) new Reporter(name).sync(inventory, 1)
    assert.deepEqual(
      inventory
        .loadingServers(0, { leaving: new Set(['b', 'gone']), clones: new Map() })
        .map(({ name, decommissioning }) => [name, decommissioning]),
      [
        ['a', false],
        ['b', true],
      ],
    )
  })
})

describe('after any loss of messages', () => {
  const ids = ['s', 't', 'u', 'v']
  const step = fc.record({
    kind: fc.constantFrom(
      'load',
      'drop',
      'ask',
      'fail',
      'report',
      'report',
      'report',
      'restart',
      'leader',
      'silence',
      'flush',
      'failed send',
    ),
    server: fc.nat(2),
    id: fc.constantFrom(...ids),
    lost: fc.constantFrom('nothing', 'nothing', 'report', 'answer'),
  } as const)

  it('the leader finally knows exactly what is served and waits for nothing', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        let changes = 0
        const inventory = new ServerInventory(silenceMs, {
          onFailure: () => {
            changes += 1
          },
        })
        const servers = ['a', 'b', 'c'].map((name) => new Reporter(name))
        let term = 1
        let nowMs = 0
        let failed = 0
        for (const { kind, server: index, id, lost } of steps) {
          const server = servers[index] as Reporter
          nowMs += 100
          if (kind === 'load') server.served.add(id)
          else if (kind === 'drop') server.served.remove(id)
          else if (kind === 'ask')
            inventory.note(
              server.name,
              new Map([[id, requested(server.served.has(id) ? 'drop' : 'load', nowMs)]]),
            )
          else if (kind === 'fail') {
            failed += 1
            server.log.noteFailure({ id, action: 'load', message: '' })
          } else if (kind === 'report') server.send(inventory, term, nowMs, lost)
          else if (kind === 'restart') server.restart()
          else if (kind === 'leader') {
            term += 1
            inventory.reset()
          } else if (kind === 'silence') {
            nowMs += silenceMs
            inventory.expire(nowMs, timeoutMs)
          } else if (kind === 'failed send') inventory.voidPendingOf(server.name)
          else inventory.voidPending()
          // A server in its current session never has more known changes than it reported.
          for (const { name, session, sequence } of inventory.servers()) {
            const now = servers.find((one) => one.name === name) as Reporter
            if (session === now.served.session) assert.ok(sequence <= now.served.sequence)
          }
        }
        for (const server of servers) server.sync(inventory, term, nowMs)
        for (const server of servers) {
          const known = inventory.get(server.name)
          assert.deepEqual(new Set(known?.served), new Set(server.served.ids()))
          assert.equal(known?.session, server.served.session)
          for (const [id, { action }] of known?.pending ?? [])
            assert.equal(server.served.has(id), action === 'drop', 'only incomplete requests are pending')
        }
        nowMs += timeoutMs + 1
        for (const server of servers) server.send(inventory, term, nowMs)
        inventory.expire(nowMs, timeoutMs)
        for (const server of servers) server.sync(inventory, term, nowMs)
        for (const { pending } of inventory.servers()) assert.equal(pending.size, 0)
        assert.ok(changes <= failed)
      }),
      { numRuns: 500 },
    )
  })
})

describe('what servers reported to a standby', () => {
  /** A coordinator that follows two servers, and then becomes the leader of term 2. */
  function takeOver() {
    const leader = new ServerInventory(silenceMs)
    const changes: string[] = []
    const standby = new ServerInventory(silenceMs, { onCopyChange: (_, { id }) => void changes.push(id) })
    const servers = ['a', 'b'].map((name) => new Reporter(name)) as [Reporter, Reporter]
    for (const [index, server] of servers.entries()) {
      server.served.add('s')
      server.served.add(`s${index}`)
      server.sync(leader, 1)
      server.sendToStandby(standby, 0)
    }
    standby.reset()
    return { standby, servers, changes }
  }
  const isServed = ({ table: { copies } }: ServerInventory): boolean =>
    copies.flagsOf.length > 0 &&
    Array.from({ length: copies.limit }, (_, entry) => entry).some(
      (entry) => copies.serverOf[entry] !== -1 && (copies.flagsOf[entry]! & copyFlag.served) !== 0,
    )

  it('counts once the server confirms it to the new leader, with what changed since then', () => {
    const { standby, servers, changes } = takeOver()
    const [server] = servers
    server.served.remove('s')
    server.served.add('t')
    assert.deepEqual(standby.servers(), [])
    server.send(standby, 2, 0)
    assert.equal(
      isServed(standby),
      false,
      'a server that does not know the leader may still execute requests',
    )
    const { from, segments } = server.report()
    assert.deepEqual([from, segments], [2, null])
    server.send(standby, 2, 0)
    assert.deepEqual([...standby.get('a')!.served].sort(), ['s0', 't'])
    assert.deepEqual(
      standby.servers().map(({ name }) => name),
      ['a'],
    )
    assert.deepEqual(changes, [], 'the new leader requested none of these changes')
  })

  it('is ignored if the server confirms it only after the leader has decided', () => {
    const { standby, servers } = takeOver()
    const [server] = servers
    standby.expire(0, timeoutMs)
    assert.equal(isServed(standby), false)
    server.send(standby, 2, 0)
    assert.notEqual(server.report().segments, null)
    server.send(standby, 2, 0)
    assert.deepEqual([...standby.get('a')!.served].sort(), ['s', 's0'])
  })

  it('is ignored if the server has restarted since then', () => {
    const { standby, servers } = takeOver()
    const [server] = servers
    server.served.remove('s')
    server.restart()
    server.sync(standby, 2)
    assert.deepEqual([...standby.get('a')!.served], ['s0'])
  })

  it('is forgotten when servers stop reporting to it', () => {
    const inventory = new ServerInventory(silenceMs)
    const server = new Reporter('a')
    server.served.add('s')
    server.sendToStandby(inventory, 0)
    inventory.expireAsStandby(60_000)
    assert.notEqual(inventory.table.rowOf('s'), -1)
    inventory.expireAsStandby(60_001)
    assert.equal(inventory.table.rowOf('s'), -1)
  })

  const ids = ['s', 't', 'u', 'v']
  const step = fc.record({
    kind: fc.constantFrom(
      ...(['load', 'drop', 'restart', 'report', 'report', 'standby report', 'standby report'] as const),
      ...(['takeover', 'decision', 'silence'] as const),
    ),
    server: fc.nat(2),
    id: fc.constantFrom(...ids),
    lost: fc.constantFrom('nothing', 'nothing', 'report', 'answer'),
  } as const)

  it('leads to the same result as complete lists, whenever a coordinator takes over', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        let [leader, standby] = [new ServerInventory(silenceMs), new ServerInventory(silenceMs)]
        let [term, nowMs] = [1, 0]
        const servers = ['a', 'b', 'c'].map((name) => new Reporter(name))
        /** What each session of a server served after each number of changes. */
        const served = new Map<string, ReadonlySet<string>[]>()
        const note = ({ served: now }: Reporter) => {
          const bySequence = served.get(now.session) ?? []
          bySequence[now.sequence] = new Set(now.ids())
          served.set(now.session, bySequence)
        }
        for (const { kind, server: index, id, lost } of steps) {
          const server = servers[index]!
          note(server)
          nowMs += 100
          if (kind === 'load') server.served.add(id)
          else if (kind === 'drop') server.served.remove(id)
          else if (kind === 'restart') server.restart()
          else if (kind === 'report') server.send(leader, term, nowMs, lost)
          else if (kind === 'standby report') server.sendToStandby(standby, nowMs, lost)
          else if (kind === 'decision') leader.expire(nowMs, timeoutMs)
          else if (kind === 'silence') standby.expireAsStandby(nowMs + 60_000)
          else {
            ;[leader, standby] = [standby, leader]
            term += 1
            leader.reset()
            assert.equal(isServed(leader), false)
          }
          note(server)
          for (const known of leader.servers())
            assert.deepEqual(new Set(known.served), served.get(known.session)![known.sequence])
        }
        const reading = new ServerInventory(silenceMs)
        for (const server of servers) {
          server.sync(leader, term, nowMs)
          assert.deepEqual(new Set(leader.get(server.name)?.served), new Set(server.served.ids()))
        }
        leader.expire(nowMs, timeoutMs)
        assert.deepEqual(
          Array.from({ length: leader.table.copies.limit }, (_, entry) => entry).filter(
            (entry) =>
              leader.table.copies.serverOf[entry] !== -1 &&
              (leader.table.copies.flagsOf[entry]! & copyFlag.listed) !== 0,
          ),
          [],
        )
        for (const server of servers) {
          server.log = new ReportLog(server.served)
          server.sync(reading, term, nowMs)
        }
        const known = (inventory: ServerInventory) =>
          inventory.servers().map(({ name, session, sequence, served: list }) => ({
            name,
            session,
            sequence,
            segments: [...list].sort(),
          }))
        assert.deepEqual(known(leader), known(reading))
      }),
      { numRuns: 300 },
    )
  })
})
