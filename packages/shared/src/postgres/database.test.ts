import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Failure, notFound } from '@svc/domain/failure'
import { createTestStores, startTcpGate, waitUntil } from '../testing/index.ts'
import { createDatabase, type Database, sql } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
await database.query(sql`CREATE TABLE notes (id int PRIMARY KEY, note text)`)

const count = async (): Promise<number> =>
  Number((await database.query<{ n: number }>(sql`SELECT count(*) AS n FROM notes`))[0]?.n)
const backend = async (on: Pick<Database, 'query'>): Promise<number> =>
  Number((await on.query<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`))[0]?.pid)
const terminate = (pid: number) => database.query(sql`SELECT pg_terminate_backend(${pid})`)
const isUnavailable = (error: unknown) => {
  assert.ok(error instanceof Failure, String(error))
  assert.equal(error.code, 'unavailable')
  assert.match(error.message, /^The metadata store is unavailable/)
  return true
}

/** A connection pool through a gate. */
async function throughGate(scope: { after(done: () => unknown): void }) {
  const settings = stores.settings('coordinator')
  const gate = await startTcpGate(scope, settings.get('svc.metadata.storage.connector.port'))
  const gated = createDatabase(
    stores.settings('coordinator', { 'svc.metadata.storage.connector.port': String(gate.port) }),
    { connections: 2, applicationName: 'gated' },
  )
  scope.after(() => gated.close())
  return { gate, gated }
}

describe('values', () => {
  it('are read as numbers', async () => {
    const [row] = await database.query(sql`
      SELECT 9007199254740991::bigint AS big, '2026-01-02T03:04:05.678Z'::timestamptz AS time,
        '2026-01-02 03:04:05+05:30'::timestamptz AS zoned, null::timestamptz AS never, '{"a":[1]}'::json AS json`)
    assert.deepEqual(row, {
      big: Number.MAX_SAFE_INTEGER,
      time: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      zoned: Date.UTC(2026, 0, 1, 21, 34, 5),
      never: null,
      json: { a: [1] },
    })
  })

  it('are never part of a statement', async () => {
    const nasty = `'; DROP TABLE notes; -- $1 \${x} \\ "`
    const [row] = await database.query<{ text: string }>(sql`SELECT ${nasty}::text AS text`)
    assert.equal(row?.text, nasty)
  })

  it('with a NUL are rejected as invalid input, because Postgres cannot store them', async () => {
    await assert.rejects(database.query(sql`SELECT ${'a\0b'}::text`), {
      code: 'invalidInput',
      message: /U\+0000/,
    })
  })
})

describe('a transaction', () => {
  it('is committed completely', async () => {
    const result = await database.transaction(async (transaction) => {
      await transaction.query(sql`INSERT INTO notes VALUES (1, 'a')`)
      await transaction.query(sql`INSERT INTO notes VALUES (2, 'b')`)
      return 'done'
    })
    assert.equal(result, 'done')
    assert.equal(await count(), 2)
  })

  it('is rolled back if a statement or the work fails', async () => {
    const before = await count()
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(sql`INSERT INTO notes VALUES (3, 'c')`)
        await transaction.query(sql`INSERT INTO notes VALUES (1, 'again')`)
      }),
      { code: '23505' },
    )
    const failure = notFound('It is not there')
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(sql`INSERT INTO notes VALUES (4, 'd')`)
        throw failure
      }),
      (error) => error === failure,
    )
    assert.equal(await count(), before)
  })

  it('always releases its connection', async () => {
    for (let attempt = 0; attempt < 20; attempt++)
      await assert.rejects(
        database.transaction(async (transaction) => transaction.query(sql`SELECT 1 / 0`)),
        { code: '22012' },
      )
    await Promise.all(Array.from({ length: 20 }, () => database.query(sql`SELECT 1`)))
  })

  it('fails as unavailable if its connection breaks, and the process continues', async () => {
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(sql`INSERT INTO notes VALUES (5, 'e')`)
        await terminate(await backend(transaction))
        await transaction.query(sql`SELECT 1`)
      }),
      isUnavailable,
    )
    await assert.rejects(
      database.transaction(async (transaction) => {
        // No statement is running when the connection breaks.
        const pid = await backend(transaction)
        await terminate(pid)
        await waitUntil('the connection is gone', async () => {
          const rows = await database.query(sql`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid}`)
          return rows.length === 0
        })
        await new Promise((resolve) => setImmediate(resolve))
        await transaction.query(sql`INSERT INTO notes VALUES (6, 'f')`)
      }),
      isUnavailable,
    )
    assert.deepEqual(await database.query(sql`SELECT id FROM notes WHERE id IN (5, 6)`), [])
  })
})

describe('an error', () => {
  it('of a statement is not reported as unavailable, whatever its text', async () => {
    await assert.rejects(database.query(sql`SELECT 'the deadline has ended: timeout'::int`), {
      code: '22P02',
    })
    await assert.rejects(database.query(sql`SELECT closed FROM nowhere_ended`), { code: '42P01' })
  })

  it('of the work in a transaction is rethrown unchanged', async () => {
    const bug = new Error('the list was extended')
    await assert.rejects(
      database.transaction(async () => Promise.reject(bug)),
      (error) => error === bug,
    )
  })

  it('of a statement timeout is reported as unavailable', async () => {
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(sql`SET LOCAL statement_timeout = 50`)
        await transaction.query(sql`SELECT pg_sleep(10)`)
      }),
      isUnavailable,
    )
  })

  it('is avoided by one retry if connecting times out', async (context) => {
    const one = createDatabase(stores.settings('coordinator'), { connections: 1, applicationName: 'late' })
    context.after(() => one.close())
    const busy = one.query(sql`SELECT pg_sleep(7)`)
    const late = Promise.all([one.query(sql`SELECT 1 AS one`), one.transaction(async () => 2)])
    assert.deepEqual(await late, [[{ one: 1 }], 2])
    await busy
  })

  it('of refused connections is reported as unavailable until Postgres is back', async (context) => {
    const { gate, gated } = await throughGate(context)
    await gated.query(sql`SELECT 1`)
    await gate.cut()
    await assert.rejects(gated.query(sql`SELECT 1`), isUnavailable)
    await assert.rejects(
      gated.transaction(async () => assert.fail('nothing runs')),
      isUnavailable,
    )
    await gate.reconnect()
    assert.deepEqual(await gated.query(sql`SELECT 1 AS one`), [{ one: 1 }])
  })

  it('of a connection lost during a statement is reported as unavailable', async (context) => {
    const { gate, gated } = await throughGate(context)
    const querying = gated.query(sql`SELECT pg_sleep(30)`)
    await waitUntil('the statement runs', async () => {
      const rows = await database.query(
        sql`SELECT 1 FROM pg_stat_activity WHERE application_name = 'gated' AND query LIKE '%pg_sleep%'`,
      )
      return rows.length === 1
    })
    const refused = assert.rejects(querying, isUnavailable)
    await gate.cut()
    await refused
    await database.query(
      sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gated'`,
    )
  })
})

describe('a listener', () => {
  it('receives every notification on its channel', async () => {
    const payloads: (string | undefined)[] = []
    await database.listen('first_channel', (payload) => payloads.push(payload))
    await database.query(sql`SELECT pg_notify('other_channel', '')`)
    await database.query(sql`SELECT pg_notify('first_channel', '')`)
    await waitUntil('the notification', () => payloads.length === 1)
    await assert.rejects(
      database.transaction(async (transaction) => {
        await transaction.query(sql`SELECT pg_notify('first_channel', '')`)
        throw new Error('rolled back')
      }),
    )
    await database.query(sql`SELECT pg_notify('first_channel', 'again')`)
    await waitUntil('the second notification', () => payloads.length >= 2)
    assert.deepEqual(payloads, ['', 'again'], 'a rolled-back notification is not delivered')
  })

  it('shares one connection with others, which closes after the last of them', async (context) => {
    const { gated } = await throughGate(context)
    const connections = async () =>
      (await database.query(sql`SELECT 1 FROM pg_stat_activity WHERE application_name = 'gated'`)).length
    const received: string[] = []
    const listeners = await Promise.all(
      ['a_channel', 'b_channel', 'b_channel'].map((channel) =>
        gated.listen(channel, (payload) => received.push(`${channel} ${payload}`)),
      ),
    )
    assert.equal(await connections(), 1)
    const notify = async (payload: string) => {
      for (const channel of ['a_channel', 'b_channel'])
        await database.query(sql`SELECT pg_notify(${channel}, ${payload})`)
    }
    await notify('1')
    await waitUntil('all are notified', () => received.length === 3)
    assert.deepEqual(received, ['a_channel 1', 'b_channel 1', 'b_channel 1'])
    await Promise.all(listeners.slice(0, 2).map((listener) => listener.close()))
    await notify('2')
    await waitUntil('one is notified', () => received.length > 3)
    assert.deepEqual(received.slice(3), ['b_channel 2'])
    await listeners[2]!.close()
    await waitUntil('the connection is closed', async () => (await connections()) === 0)
  })

  it('is called once after a reconnect, and receives notifications again', async (context) => {
    const { gate, gated } = await throughGate(context)
    let notifications = 0
    let reconnects = 0
    await gated.listen('lasting_channel', (payload) => {
      notifications++
      if (payload === undefined) reconnects++
    })
    for (let round = 0; round < 2; round++) {
      await gate.cut()
      const before = notifications
      await database.query(sql`SELECT pg_notify('lasting_channel', 'lost')`)
      await gate.reconnect()
      await waitUntil(
        'it is called for notifications that it may have missed',
        () => notifications === before + 1,
      )
      await database.query(sql`SELECT pg_notify('lasting_channel', '')`)
      await waitUntil('it receives notifications again', () => notifications === before + 2)
      assert.equal(reconnects, round + 1)
    }
  })

  it('that catches up has received every notification that was committed before', async () => {
    let received = 0
    const listener = await database.listen('caught_channel', () => received++)
    for (let round = 1; round <= 200; round++) {
      await database.query(sql`SELECT pg_notify('caught_channel', ${`${round}`})`)
      await listener.catchUp()
      assert.equal(received, round)
    }
    await listener.close()
  })

  it('that catches up without a connection, or with one that hangs, may have missed notifications', async (context) => {
    const { gate, gated } = await throughGate(context)
    const payloads: (string | undefined)[] = []
    const listener = await gated.listen('missed_channel', (payload) => payloads.push(payload))
    await gate.cut()
    await listener.catchUp()
    assert.equal(payloads.at(-1), undefined)
    assert.ok(payloads.length > 0)
    const notified = async () => {
      await database.query(sql`SELECT pg_notify('missed_channel', 'again')`)
      await waitUntil('it receives notifications', () => payloads.includes('again'))
      payloads.length = 0
    }
    await gate.reconnect()
    await waitUntil('it is connected again', async () => {
      payloads.length = 0
      await listener.catchUp()
      return payloads.length === 0
    })
    await notified()
    gate.freeze()
    await listener.catchUp()
    assert.deepEqual(payloads, [undefined])
    gate.thaw()
    await waitUntil('it is connected again', () => payloads.length > 1)
    await notified()
  })

  it('that cannot connect fails, and leaves nothing behind', async (context) => {
    const { gate, gated } = await throughGate(context)
    await gate.cut()
    let notifications = 0
    await assert.rejects(gated.listen('no_channel', () => notifications++))
    await gate.reconnect()
    await gated.query(sql`SELECT 1`)
    const listening = () =>
      database.query(
        sql`SELECT 1 FROM pg_stat_activity WHERE application_name = 'gated' AND query LIKE 'LISTEN no_channel'`,
      )
    // Longer than the delay before a reconnect.
    const until = performance.now() + 500
    await waitUntil(
      'the time is over',
      async () => (await listening()).length > 0 || performance.now() > until,
    )
    assert.deepEqual(await listening(), [])
    assert.equal(notifications, 0)
  })
})

it('ignores variables that are meant for other databases', async () => {
  process.env.PGOPTIONS = '-c search_path=other'
  const own = createDatabase(stores.settings('coordinator'), { connections: 1, applicationName: 'own' })
  try {
    assert.deepEqual(await own.query(sql`SELECT count(*) AS n FROM notes WHERE false`), [{ n: 0 }])
  } finally {
    await own.close()
  }
})
