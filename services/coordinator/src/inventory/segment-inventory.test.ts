import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Segment, segmentId } from '@svc/domain/segment'
import { createDatabase, type Database, eraseUnused, markUnused, markUsed, sql } from '@svc/shared/postgres'
import { createTestStores, fc, startTcpGate, storeSegments } from '@svc/shared/testing'
import { createSegmentInventory, type SegmentInventory } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
beforeEach(() => database.query(sql`DELETE FROM segments`))

const day = 86_400_000
function segment(dataSource: string, number: number, version = 'v1', partitionNum = 0): Segment {
  const key = {
    dataSource,
    interval: { start: number * day, end: (number + 1) * day },
    version,
    partitionNum,
  }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
}
const copy = (...segments: Segment[]) => storeSegments(database, segments)
const seen = ({ table }: SegmentInventory) =>
  Object.fromEntries(
    table.datasourceNames
      .map((name, number) => {
        const ids: string[] = []
        for (const group of table.groupsOf(number))
          table.forEachRow(group, (row) =>
            ids.push(table.isHidden(row) ? `(${table.idOf(row)})` : table.idOf(row)),
          )
        return [name, ids.sort()] as const
      })
      .filter(([, ids]) => ids.length > 0),
  )
const [one, two, other] = [segment('wiki', 1), segment('wiki', 2), segment('koalas', 1)]

/** Connections to the same store that report another timeline, like those to a Postgres that has taken over. */
async function databaseOnNextTimeline(context: TestContext): Promise<Database> {
  await database.query(
    sql`CREATE FUNCTION public.pg_walfile_name(pg_lsn) RETURNS text LANGUAGE sql AS $$ SELECT '00000002' $$`,
  )
  // Otherwise, functions of Postgres itself come first.
  await database.query(
    sql`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$`,
  )
  const next = createDatabase(stores.settings('coordinator'), { connections: 1, applicationName: 'next' })
  context.after(async () => {
    await next.close()
    await database.query(
      sql`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET search_path', current_database()); END $$`,
    )
    await database.query(sql`DROP FUNCTION public.pg_walfile_name(pg_lsn)`)
  })
  return next
}

describe('the segment inventory', () => {
  it('has the used segments by datasource', async () => {
    await copy(one, two, other)
    await markUnused(database, [two.id], { kind: 'request', identity: 'me' }, 0)
    const inventory = createSegmentInventory(database)
    assert.deepEqual(seen(inventory), {})
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { koalas: [other.id], wiki: [one.id] })
    assert.deepEqual(
      [inventory.isUsed(one.id), inventory.isUsed(two.id), inventory.isUsed('x')],
      [true, false, false],
    )
    assert.deepEqual(inventory.get(one.id), one)
    assert.equal(inventory.get(two.id), undefined)
  })

  it('follows every change', async () => {
    const inventory = createSegmentInventory(database)
    await inventory.refresh()
    await copy(one, other)
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { koalas: [other.id], wiki: [one.id] })
    await markUnused(database, [one.id], { kind: 'request', identity: 'me' }, 0)
    await copy(two)
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { koalas: [other.id], wiki: [two.id] })
    await markUsed(database, [one.id], 0)
    await markUnused(database, [other.id], { kind: 'request', identity: 'me' }, 0)
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [one.id, two.id] })
    await eraseUnused(database, [other.id])
    await database.query(sql`DELETE FROM segments WHERE id = ${one.id}`)
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [two.id] })
  })

  it('marks segments as overshadowed by newer ones until these are gone', async () => {
    const newer = segment('wiki', 1, 'v2')
    await copy(one, two, newer)
    const inventory = createSegmentInventory(database)
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [`(${one.id})`, newer.id, two.id].sort() })
    await markUnused(database, [newer.id], { kind: 'request', identity: 'me' }, 0)
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [one.id, two.id] })
  })

  it('is read again only after changes, if these are reported', async () => {
    let changes: number | undefined
    const inventory = createSegmentInventory(database, undefined, undefined, {
      catchUp: async () => undefined,
      countOf: () => changes,
    })
    const seenAfter = async (...added: readonly Segment[]) => {
      await copy(...added)
      await inventory.refreshIfChanged()
      return seen(inventory)
    }
    assert.deepEqual(await seenAfter(one), { wiki: [one.id] })
    assert.deepEqual(await seenAfter(two), { wiki: [one.id, two.id] })
    changes = 0
    // Something may have changed before changes were reported.
    await inventory.refreshIfChanged()
    assert.deepEqual(await seenAfter(other), { wiki: [one.id, two.id] })
    changes = 1
    assert.deepEqual(await seenAfter(), { koalas: [other.id], wiki: [one.id, two.id] })
    const newer = segment('wiki', 1, 'v2')
    assert.deepEqual(await seenAfter(newer), { koalas: [other.id], wiki: [one.id, two.id] })
    // A new leader does not rely on what it read before.
    inventory.abandonRead()
    await inventory.refreshIfChanged()
    assert.ok(inventory.isUsed(newer.id))
  })

  it('shares one further read between callers that arrive during a read', async () => {
    await copy(one)
    const inventory = createSegmentInventory(database)
    const [first, ofSameTurn] = [inventory.refresh(), inventory.refresh()]
    assert.equal(first, ofSameTurn)
    await setImmediate()
    const [later, ofLaterTurn] = [inventory.refresh(), inventory.refresh()]
    assert.notEqual(later, first)
    assert.equal(later, ofLaterTurn)
    await Promise.all([first, later])
    assert.deepEqual(seen(inventory), { wiki: [one.id] })
  })

  it('knows the same after any changes as one that reads everything', async () => {
    const choices = ['v1', 'v2', 'v3'].flatMap((version) =>
      [1, 2].flatMap((number) => ['wiki', 'koalas'].map((name) => segment(name, number, version))),
    )
    const change = fc.record({
      kind: fc.constantFrom('use', 'mark as unused', 'erase', 'refresh'),
      index: fc.nat(choices.length - 1),
    })
    const following = createSegmentInventory(database)
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
        for (const { kind, index } of changes) {
          const { id } = choices[index]!
          const isStored = (await database.query(sql`SELECT FROM segments WHERE id = ${id}`)).length > 0
          if (kind === 'refresh') await following.refresh()
          else if (kind === 'mark as unused')
            await markUnused(database, [id], { kind: 'request', identity: 'me' }, 0)
          else if (kind === 'erase') await database.query(sql`DELETE FROM segments WHERE id = ${id}`)
          else if (isStored) await markUsed(database, [id], 0)
          else await copy(choices[index]!)
        }
        const reading = createSegmentInventory(database)
        await Promise.all([following.refresh(), reading.refresh()])
        assert.deepEqual(seen(following), seen(reading))
      }),
      { numRuns: 20 },
    )
  })

  it('reads everything again once the store may have forgotten removals', async () => {
    await copy(one, two)
    let nowMs = 0
    const inventory = createSegmentInventory(database, undefined, () => nowMs)
    await inventory.refresh()
    await database.query(sql`DELETE FROM segments WHERE id = ${two.id}`)
    await database.query(sql`DELETE FROM segment_removals`)
    nowMs += 12 * 3_600_000
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [one.id, two.id] })
    nowMs += 12 * 3_600_000 + 1
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [one.id] })
  })

  it('reads everything again after another Postgres has taken over', async (context) => {
    let current = database
    const inventory = createSegmentInventory({
      ...database,
      query: (statement) => current.query(statement),
      transaction: (work) => current.transaction(work),
    })
    await copy(one, two)
    await inventory.refresh()
    // Neither a lost removal nor a transaction with an old number is a change since the last read.
    await database.query(sql`DELETE FROM segments WHERE id = ${two.id}`)
    await database.query(sql`DELETE FROM segment_removals`)
    await copy(other)
    await database.query(sql`ALTER TABLE segments DISABLE TRIGGER USER`)
    await database.query(sql`UPDATE segments SET changed_in = '3'::xid8 WHERE id = ${other.id}`)
    await database.query(sql`ALTER TABLE segments ENABLE TRIGGER USER`)
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [one.id, two.id] })
    current = await databaseOnNextTimeline(context)
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { koalas: [other.id], wiki: [one.id] })
  })

  it('does not wait for an abandoned read, nor use its results', async () => {
    await copy(one)
    const hanging = Promise.withResolvers<void>()
    let reads = 0
    const inventory = createSegmentInventory({
      ...database,
      transaction: async (work) => {
        reads += 1
        if (reads === 1) await hanging.promise
        return await database.transaction(work)
      },
    })
    const abandoned = inventory.refresh()
    inventory.abandonRead()
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [one.id] })
    await database.query(sql`DELETE FROM segments WHERE id = ${one.id}`)
    await copy(two)
    hanging.resolve()
    await abandoned
    assert.deepEqual(seen(inventory), { wiki: [one.id] })
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [two.id] })
  })

  it('keeps its segments while the store is unavailable and catches up afterward', async (context) => {
    const port = stores.settings('coordinator').get('svc.metadata.storage.connector.port')
    const gate = await startTcpGate(context, port)
    const gated = createDatabase(
      stores.settings('coordinator', { 'svc.metadata.storage.connector.port': String(gate.port) }),
      { connections: 1, applicationName: 'gated' },
    )
    context.after(() => gated.close())
    await copy(one)
    const inventory = createSegmentInventory(gated)
    await inventory.refresh()
    await gate.cut()
    await copy(two)
    await assert.rejects(inventory.refresh(), { code: 'unavailable' })
    assert.deepEqual(seen(inventory), { wiki: [one.id] })
    await gate.reconnect()
    await inventory.refresh()
    assert.deepEqual(seen(inventory), { wiki: [one.id, two.id] })
  })

  it('reads 100,000 segments within ten seconds', async () => {
    await database.query(sql`
      INSERT INTO segments (id, datasource, start_ms, end_ms, version, partition_num, partitions, size_bytes,
        total_rows, used, created_at, used_changed_at, payload)
      SELECT 's' || n, 'd' || n % 100, n, n + 1, 'v1', 0, 1, 1, 1, true, now(), now(), '{}'
      FROM generate_series(1, 100000) n`)
    const inventory = createSegmentInventory(database)
    const startedAt = performance.now()
    await inventory.refresh()
    assert.equal(inventory.table.usedCount, 100_000)
    assert.ok(performance.now() - startedAt < 10_000)
  })
})
