import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { createDatabase, type Database, loadLeases, sql } from '../postgres/index.ts'
import { createTestStores, recordingLogger, startTcpGate, waitUntil } from '../testing/index.ts'
import { type Election, startElection } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const storePort = stores.settings('coordinator').get('svc.metadata.storage.connector.port')
const leaseMs = 1000

beforeEach(() => database.query(sql`DELETE FROM leader_leases`))

/** A candidate with its own connections, which can be cut. */
async function candidate(
  context: TestContext,
  name: string,
  options: { leaseMs?: number; node?: string } = {},
) {
  let mayLead = true
  const gate = await startTcpGate(context, storePort)
  const settings = stores.settings('coordinator', {
    'svc.metadata.storage.connector.port': String(gate.port),
  })
  const own: Database = createDatabase(settings, { connections: 2, applicationName: name })
  const changes: string[] = []
  const logger = recordingLogger()
  const start = (): Election =>
    startElection(
      own,
      {
        role: 'coordinator',
        holder: `machine ${name}`,
        node: options.node ?? name,
        baseUrl: `http://${name}`,
      },
      options.leaseMs ?? leaseMs,
      { onGain: (term) => changes.push(`gain ${term}`), onLoss: () => changes.push('loss') },
      logger,
      () => mayLead,
    )
  let election: Election | undefined
  context.after(async () => {
    await election?.stop()
    await own.close()
  })
  return {
    name,
    gate,
    changes,
    logger,
    term: () => election?.term(),
    allow: (allowed: boolean) => {
      mayLead = allowed
    },
    start: () => {
      election = start()
      return election
    },
    stop: async () => election?.stop(),
  }
}
type Candidate = Awaited<ReturnType<typeof candidate>>

/**
 * Samples the candidates continuously. The returned function fails if two of them were ever leader at the same time.
 */
function watch(context: TestContext, candidates: readonly Candidate[]) {
  const seen: string[] = []
  let samples = 0
  const timer = setInterval(() => {
    samples += 1
    const leaders = candidates.filter((one) => one.term() !== undefined).map((one) => one.name)
    if (leaders.length > 1) seen.push(leaders.join(' and '))
  }, 1)
  context.after(() => clearInterval(timer))
  return async () => {
    await waitUntil('enough samples', () => samples > 10)
    clearInterval(timer)
    assert.deepEqual(seen, [], 'two leaders at the same time')
  }
}

const untilLeader = (one: Candidate) => waitUntil(`${one.name} is the leader`, () => one.term())

async function leaderAndOther(context: TestContext, options: { leaseMs?: number } = {}) {
  const leader = await candidate(context, 'first', options)
  const other = await candidate(context, 'second', options)
  const noTwo = watch(context, [leader, other])
  leader.start()
  await untilLeader(leader)
  await other.start().settled
  assert.equal(other.term(), undefined)
  return { leader, other, noTwo }
}

describe('an election', () => {
  it('makes the first candidate the leader, and the second one a follower', async (context) => {
    const { leader, other, noTwo } = await leaderAndOther(context)
    assert.equal(leader.term(), 1)
    assert.deepEqual([leader.changes, other.changes], [['gain 1'], []])
    assert.deepEqual(
      (await loadLeases(database)).map(({ baseUrl }) => baseUrl),
      ['http://first'],
    )
    await noTwo()
  })

  it('has one leader among many candidates that start at the same time', async (context) => {
    const many = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => candidate(context, name)))
    const noTwo = watch(context, many)
    await Promise.all(many.map((one) => one.start().settled))
    assert.equal(many.filter((one) => one.term() !== undefined).length, 1)
    await noTwo()
  })

  it('keeps its leader for much longer than one lease', async (context) => {
    const { leader, noTwo } = await leaderAndOther(context)
    const until = performance.now() + 2.5 * leaseMs
    await waitUntil('the time is over', () => {
      assert.equal(leader.term(), 1)
      return performance.now() > until
    })
    assert.deepEqual(leader.changes, ['gain 1'])
    await noTwo()
  })

  it('keeps the same leader when the metadata store closes its connections', async (context) => {
    const { leader, noTwo } = await leaderAndOther(context)
    for (let round = 0; round < 3; round++) {
      await database.query(
        sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'first'`,
      )
      const [before] = await database.query<{ at: number }>(sql`SELECT expires_at AS at FROM leader_leases`)
      await waitUntil('the lease is renewed again', async () => {
        const [now] = await database.query<{ at: number }>(sql`SELECT expires_at AS at FROM leader_leases`)
        return (now?.at ?? 0) > (before?.at ?? Infinity)
      })
    }
    assert.deepEqual(leader.changes, ['gain 1'])
    await noTwo()
  })

  it('hands over immediately when the leader stops', async (context) => {
    const { leader, other, noTwo } = await leaderAndOther(context)
    const startedAt = performance.now()
    await leader.stop()
    assert.equal(leader.term(), undefined)
    assert.equal(await untilLeader(other), 2)
    assert.ok(performance.now() - startedAt < leaseMs)
    assert.deepEqual([leader.changes, other.changes], [['gain 1', 'loss'], ['gain 2']])
    await noTwo()
  })

  it('hands over while the leader must not lead, and lets it lead again later', async (context) => {
    const { leader, other, noTwo } = await leaderAndOther(context)
    leader.allow(false)
    assert.equal(await untilLeader(other), 2)
    assert.deepEqual(leader.changes, ['gain 1', 'loss'])
    await other.stop()
    const third = await candidate(context, 'third')
    third.allow(false)
    await third.start().settled
    assert.equal(third.term(), undefined)
    leader.allow(true)
    assert.equal(await untilLeader(leader), 3)
    await noTwo()
  })

  it('elects another leader within ten seconds when the leader loses the metadata store, with the default lease period', async (context) => {
    const lease = stores.settings('coordinator').get('svc.leader.leasePeriod')
    const { leader, other, noTwo } = await leaderAndOther(context, { leaseMs: lease })
    const startedAt = performance.now()
    await leader.gate.cut()
    assert.equal(
      await waitUntil('the other is the leader', () => other.term(), Boolean, { timeoutMs: 12_000 }),
      2,
    )
    assert.ok(performance.now() - startedAt < 10_000)
    assert.deepEqual(leader.changes, ['gain 1', 'loss'], 'the old leader knew before')
    assert.equal(leader.logger.having('Failed to acquire or renew the leader lease').length > 0, true)
    await noTwo()
  })

  it('lets an old leader lead again later, in a new term', async (context) => {
    const { leader, other, noTwo } = await leaderAndOther(context)
    await leader.gate.cut()
    await untilLeader(other)
    await leader.gate.reconnect()
    await waitUntil(
      'the old leader is a candidate again',
      () => leader.logger.having('Leader election recovered').length > 0,
    )
    assert.equal(leader.term(), undefined)
    await other.stop()
    assert.equal(await untilLeader(leader), 3)
    assert.deepEqual(leader.changes, ['gain 1', 'loss', 'gain 3'])
    await noTwo()
  })

  it('has no leader while the metadata store is unavailable, and then one', async (context) => {
    const { leader, other, noTwo } = await leaderAndOther(context)
    await Promise.all([leader.gate.cut(), other.gate.cut()])
    await waitUntil('there is no leader', () => leader.term() === undefined)
    assert.equal(other.term(), undefined)
    await Promise.all([leader.gate.reconnect(), other.gate.reconnect()])
    await waitUntil('there is a leader', () => leader.term() ?? other.term())
    await noTwo()
  })

  it('starts when the metadata store becomes available', async (context) => {
    const one = await candidate(context, 'early')
    await one.gate.cut()
    let isSettled = false
    void one.start().settled.then(() => {
      isSettled = true
    })
    await waitUntil('it has tried', () => one.logger.lines.length > 0)
    assert.equal(isSettled, false)
    await one.gate.reconnect()
    await untilLeader(one)
    assert.equal(isSettled, true)
  })

  it('does not make a server leader with a lease that has expired by the time it learns about it', async (context) => {
    const changes: string[] = []
    let answers = 0
    const late: Pick<Database, 'query'> = {
      query: async <Row>() => {
        answers += 1
        const requestedAt = performance.now()
        await waitUntil('the lease expires', () => performance.now() > requestedAt + 20)
        return [{ term: 1 }] as Row[]
      },
    }
    const change = { onGain: () => changes.push('gain'), onLoss: () => changes.push('loss') }
    const one = { role: 'coordinator', holder: 'machine late', node: 'late', baseUrl: 'http://late' }
    const election = startElection(late as Database, one, 20, change, recordingLogger())
    context.after(election.stop)
    await election.settled
    await waitUntil('it tries again', () => answers > 1)
    assert.deepEqual(changes, [])
  })

  it('lets another server lead while one gets no answers from the metadata store', async (context) => {
    const deaf = {
      query: async (statement: Parameters<Database['query']>[0]) => {
        await database.query(statement)
        throw unavailable('The answer was lost')
      },
    }
    const one = { role: 'coordinator', holder: 'machine deaf', node: 'deaf', baseUrl: 'http://deaf' }
    const change = { onGain: () => undefined, onLoss: () => undefined }
    const election = startElection(deaf as unknown as Database, one, leaseMs, change, recordingLogger())
    context.after(election.stop)
    await waitUntil('it has the lease', async () => (await loadLeases(database)).length > 0)
    const other = await candidate(context, 'other')
    other.start()
    await untilLeader(other)
    assert.equal(election.term(), undefined)
  })

  it('can be left while the metadata store is unavailable', async (context) => {
    const { leader } = await leaderAndOther(context)
    await leader.gate.cut()
    await leader.stop()
    assert.equal(leader.term(), undefined)
    assert.deepEqual(leader.changes, ['gain 1', 'loss'])
  })

  it('lets a restarted server take over the lease of its earlier lifetime, which then loses leadership', async (context) => {
    // Longer than a busy machine can delay the renewal.
    const options = { node: 'host:8081', leaseMs: 10 * leaseMs }
    const former = await candidate(context, 'former', options)
    const restarted = await candidate(context, 'restarted', options)
    former.start()
    await untilLeader(former)
    restarted.start()
    assert.equal(await untilLeader(restarted), 2)
    await waitUntil('the earlier lifetime has lost leadership', () => former.changes.includes('loss'))
    await former.stop()
    assert.equal(restarted.term(), 2)
  })
})
