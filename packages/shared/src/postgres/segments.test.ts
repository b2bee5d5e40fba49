import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { NewSegment } from '@svc/domain/inventory'
import { payloadOf, type Segment, segmentId } from '@svc/domain/segment'
import type { Interval } from '@svc/domain/time'
import fc from 'fast-check'
import { createTestStores, waitUntil } from '../testing/index.ts'
import {
  copyManySegments,
  copySegments,
  type Database,
  eraseUnused,
  followSegmentChanges,
  forgetOldRemovals,
  loadDatasourceNames,
  loadOverlapping,
  loadPayloads,
  loadSegmentRecords,
  loadStoredSegments,
  lockDatasource,
  markUnused,
  markUsed,
  pagesOfUsedSegments,
  type SegmentCursor,
  sql,
  type Transaction,
} from './index.ts'
import { overlappingSegments } from './overlapping-segments.ts'

const stores = await createTestStores({ after })
const { database } = stores
const parallel = stores.connect(12)

const day = 86_400_000
const now = Date.UTC(2026, 0, 15)

function segment(dataSource: string, number = 0, given: Partial<Segment> = {}): Segment {
  const key = {
    dataSource,
    interval: { start: number * day, end: (number + 1) * day },
    version: '2026-01-01T00:00:00.000Z',
    partitionNum: 0,
    ...given,
  }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1, ...given }
}

const withPayload = (one: Segment, dimensions = 'a') => ({
  segment: one,
  payload: payloadOf(one, {
    loadSpec: { type: 'local', path: `${one.dataSource}/0.parquet`, checksum: 'sha256:00' },
    dimensions,
    metrics: '',
  }),
})

const copy = (segments: readonly Segment[], on: Database = database) =>
  on.transaction((transaction) =>
    copySegments(
      transaction,
      segments.map((one) => withPayload(one)),
      'task',
      now,
    ),
  )

/** A reader that follows changes as an inventory does. */
function createReader() {
  const used = new Set<string>()
  let cursor: SegmentCursor | undefined
  return {
    used,
    look: async () => {
      const changes: { used: NewSegment[]; gone: string[] } = { used: [], gone: [] }
      cursor = await followSegmentChanges(database, cursor, {
        used: (segment) => {
          changes.used.push(segment)
          used.add(segment.id)
        },
        gone: (id) => {
          changes.gone.push(id)
          used.delete(id)
        },
      })
      return changes
    },
  }
}

const usedNow = async () =>
  (await database.query<{ id: string }>(sql`SELECT id FROM segments WHERE used ORDER BY id`)).map(
    ({ id }) => id,
  )

/** A transaction that the test ends explicitly. */
async function begin() {
  let end: (keep: boolean) => void = () => undefined
  const ended = new Promise<boolean>((resolve) => {
    end = resolve
  })
  let begun: (transaction: Transaction) => void = () => undefined
  const opened = new Promise<Transaction>((resolve) => {
    begun = resolve
  })
  const over = parallel
    .transaction(async (transaction) => {
      begun(transaction)
      if (!(await ended)) throw new Error('rolled back')
    })
    .catch((error: Error) => assert.equal(error.message, 'rolled back'))
  const transaction = await opened
  return {
    transaction,
    end: async (keep: boolean) => {
      end(keep)
      await over
    },
  }
}

describe('copied segments', () => {
  const texts = [
    'plain',
    'tab\there',
    'line\nbreak',
    'carriage\rreturn',
    'back\\slash',
    '\\N',
    '\\.',
    'ends with \\',
    '\\t\\n',
    'quote"s and \'s',
    'ünïcödé 漢字 🐨',
    '\u0001\u001f\u007f\u2028',
    '{"json":"\\u0000"}',
    'null',
    ' blanks around ',
  ]
  for (const text of texts) {
    it(`preserve [${JSON.stringify(text)}] in every field`, async () => {
      const one = segment(text, 0, { version: `v${text}` })
      await database.transaction((transaction) =>
        copySegments(transaction, [withPayload(one, text)], text, now),
      )
      const [stored] = await loadStoredSegments(database, { ids: [one.id] })
      assert.deepEqual(stored, { ...one, used: true, compactionState: null, schemaId: null })
      const payload = (await loadPayloads(database, [one.id])).get(one.id)
      assert.equal(payload?.dimensions, text)
      assert.equal(payload.identifier, one.id)
      const [row] = await database.query<{ task: string }>(
        sql`SELECT task_id AS task FROM segments WHERE id = ${one.id}`,
      )
      assert.equal(row?.task, text)
    })
  }

  it('preserve any text', async () => {
    let number = 0
    const anyText = fc
      .string({ unit: 'binary', maxLength: 40 })
      .filter((text) => !text.includes('\0') && text.isWellFormed())
    await fc.assert(
      fc.asyncProperty(anyText, anyText, async (dataSource, dimensions) => {
        const one = segment(dataSource, 1000 + number++)
        await database.transaction((transaction) =>
          copySegments(transaction, [withPayload(one, dimensions)], undefined, now),
        )
        const [stored] = await loadStoredSegments(database, { ids: [one.id] })
        assert.deepEqual(stored, { ...one, used: true, compactionState: null, schemaId: null })
        assert.equal((await loadPayloads(database, [one.id])).get(one.id)?.dimensions, dimensions)
      }),
      { numRuns: 60 },
    )
  })

  it('may cover eternity', async () => {
    const one = segment('eternal', 0, { interval: { start: -Infinity, end: Infinity } })
    await copy([one])
    const [stored] = await loadStoredSegments(database, { dataSource: 'eternal' })
    assert.deepEqual(stored?.interval, { start: -Infinity, end: Infinity })
    assert.equal((await loadOverlapping(database, 'eternal', { start: 0, end: 1 })).length, 1)
  })

  it('are stored all or none', async () => {
    const [first, second] = [segment('whole', 1), segment('whole', 2)]
    await copy([first])
    await assert.rejects(copy([second, first]), { code: '23505' })
    assert.deepEqual(
      (await loadStoredSegments(database, { dataSource: 'whole' })).map(({ id }) => id),
      [first.id],
    )
    await assert.rejects(
      database.transaction((transaction) =>
        copySegments(
          transaction,
          (function* () {
            yield withPayload(second)
            throw new Error('no more')
          })(),
          undefined,
          now,
        ),
      ),
      { message: 'no more' },
    )
    assert.equal((await loadStoredSegments(database, { dataSource: 'whole' })).length, 1)
    await assert.rejects(copy([segment('a\0b')]), { code: 'invalidInput' })
  })

  it('are stored quickly in large numbers', async () => {
    const startedAt = performance.now()
    await copy(Array.from({ length: 20_000 }, (_, index) => segment('many', index)))
    assert.ok(performance.now() - startedAt < 10_000)
    const [row] = await database.query<{ n: number }>(
      sql`SELECT count(*) AS n FROM segments WHERE datasource = 'many'`,
    )
    assert.equal(row?.n, 20_000)
    await database.query(sql`DELETE FROM segments WHERE datasource = 'many'`)
  })
})

describe('segments', () => {
  it('that overlap an interval are found, used or not, with half-open ends', async () => {
    const days = [0, 1, 2, 3].map((number) => segment('overlap', number))
    await copy(days)
    await markUnused(database, [(days[2] as Segment).id], { kind: 'request', identity: 'me' }, now)
    await copy([segment('overlapping', 1)])
    const found = async (start: number, end: number) =>
      (await loadOverlapping(database, 'overlap', { start: start * day, end: end * day }))
        .map(({ interval }) => interval.start / day)
        .sort()
    assert.deepEqual(await found(1, 3), [1, 2])
    assert.deepEqual(await found(0.5, 1.5), [0, 1])
    assert.deepEqual(await found(4, 9), [])
    assert.deepEqual(await found(-Infinity, Infinity), [0, 1, 2, 3])
  })

  it('of any lengths are found by overlap and within an interval', async () => {
    const unit = fc.constantFrom(1, 60_000, 3_600_000, day, 30 * day, 366 * day, 36_525 * day)
    const time = fc.tuple(fc.integer({ min: -40, max: 40 }), unit).map(([count, ms]) => count * ms)
    const interval = fc
      .tuple(fc.oneof(time, fc.constant(-Infinity)), fc.oneof(time, fc.constant(Infinity)))
      .filter(([one, other]) => one !== other)
      .map(([one, other]) => ({ start: Math.min(one, other), end: Math.max(one, other) }))
    await fc.assert(
      fc.asyncProperty(fc.array(interval, { maxLength: 30 }), fc.array(interval), async (stored, wanted) => {
        await database.query(sql`DELETE FROM segments WHERE datasource = 'lengths'`)
        await copy(stored.map((one, partitionNum) => segment('lengths', 0, { interval: one, partitionNum })))
        const numbers = (found: readonly Segment[]) => found.map(({ partitionNum }) => partitionNum).sort()
        const numbersOf = (isFound: (one: Interval) => boolean) =>
          stored.flatMap((one, number) => (isFound(one) ? [number] : [])).sort()
        for (const within of wanted) {
          assert.deepEqual(
            numbers(await loadOverlapping(database, 'lengths', within)),
            numbersOf(({ start, end }) => start < within.end && end > within.start),
          )
          assert.deepEqual(
            numbers(await loadStoredSegments(database, { dataSource: 'lengths', within })),
            numbersOf(({ start, end }) => start >= within.start && end <= within.end),
          )
        }
      }),
      { numRuns: 30 },
    )
  })

  it('that overlap an interval are found without reading others', async () => {
    await database.query(sql`DELETE FROM segments`)
    await copy(Array.from({ length: 5000 }, (_, number) => segment('lengths', number)))
    await copy([segment('lengths', 0, { interval: { start: -Infinity, end: Infinity } })])
    const interval = { start: 2500 * day, end: 2502 * day }
    for (const isAnalyzed of [false, true]) {
      if (isAnalyzed) await database.query(sql`ANALYZE segments`)
      const plan = await database.query<{ 'QUERY PLAN': string }>(
        sql`EXPLAIN (ANALYZE, TIMING OFF) SELECT id FROM ${overlappingSegments('lengths', interval)}`,
      )
      const text = plan.map((row) => row['QUERY PLAN']).join('\n')
      assert.doesNotMatch(text, /Seq Scan/, text)
      for (const [, rows] of text.matchAll(/actual rows=(\d+)/g)) assert.ok(Number(rows) < 50, text)
    }
  })

  it('are marked as unused and used again, and only actual changes count', async () => {
    const ids = [0, 1].map((number) => segment('marked', number).id) as [string, string]
    await copy([segment('marked', 0), segment('marked', 1)])
    assert.equal(
      await markUnused(database, [...ids, 'unknown'], { kind: 'request', identity: 'me' }, now + 1),
      2,
    )
    assert.equal(await markUnused(database, ids, { kind: 'request', identity: 'me' }, now + 2), 0)
    assert.equal(await markUsed(database, [ids[0]], now + 3), 1)
    const records = await loadSegmentRecords(database, { dataSource: 'marked' })
    assert.deepEqual(
      records.map(({ used, createdAt, usedChangedAt }) => [used, createdAt - now, usedChangedAt - now]),
      [
        [true, 0, 3],
        [false, 0, 1],
      ],
    )
  })

  it('that are used are loaded with their payloads, page by page, for any datasource name', async () => {
    const names = ['paged', 'paged-2', 'paged_1', 'paged`', 'Paged']
    const changes: number[] = []
    const many = Array.from({ length: 4500 }, (_, number) => segment('paged', number))
    await copyManySegments(
      database,
      many.map((one) => withPayload(one)),
      now,
      (written) => changes.push(written),
    )
    assert.deepEqual(changes, [4500])
    for (const name of names.slice(1)) await copy([segment(name, 0), segment(name, 1)])
    await markUnused(database, [(many[7] as Segment).id], { kind: 'request', identity: 'me' }, now)
    for (const name of names) {
      const found: string[] = []
      for await (const page of pagesOfUsedSegments(database, name))
        for (const { id, text } of page) {
          assert.equal((JSON.parse(text) as { identifier: string }).identifier, id)
          found.push(id)
        }
      const ids = name === 'paged' ? many.map(({ id }) => id) : [segment(name, 0).id, segment(name, 1).id]
      assert.deepEqual(found, ids.filter((id) => id !== many[7]?.id).sort())
    }
    await database.query(sql`DELETE FROM segments WHERE datasource = ANY(${names})`)
  })

  it('that are used are never deleted', async () => {
    const [kept, gone] = [segment('erased', 0), segment('erased', 1)]
    await copy([kept, gone])
    await markUnused(database, [gone.id], { kind: 'request', identity: 'me' }, now)
    const erased = await eraseUnused(database, [kept.id, gone.id, 'unknown'])
    assert.deepEqual(
      erased.map(({ identifier }) => identifier),
      [gone.id],
    )
    assert.deepEqual(
      await loadDatasourceNames(database, true).then((names) => names.includes('erased')),
      true,
    )
  })

  it('are loaded in ID order, with pagination', async () => {
    const all = [3, 1, 0, 2].map((number) => segment('paged', number))
    await copy(all)
    const idsOf = async (query: Parameters<typeof loadSegmentRecords>[1]) =>
      (await loadSegmentRecords(database, { dataSource: 'paged', ...query })).map(
        ({ payload }) => Date.parse(payload.interval.split('/')[0] as string) / day,
      )
    assert.deepEqual(await idsOf({}), [0, 1, 2, 3])
    assert.deepEqual(await idsOf({ limit: 2, after: segment('paged', 0).id }), [1, 2])
    assert.deepEqual(await idsOf({ order: 'DESC', limit: 2, after: segment('paged', 3).id }), [2, 1])
    assert.deepEqual(await idsOf({ within: { start: day, end: 3 * day } }), [1, 2])
    assert.deepEqual(await idsOf({ versions: ['other'] }), [])
    assert.deepEqual(await idsOf({ ids: [segment('paged', 2).id] }), [2])
  })

  it('of one datasource are locked by one transaction at a time, independently of other datasources', async () => {
    const first = await begin()
    await lockDatasource(first.transaction, 'locked')
    await parallel.transaction((transaction) => lockDatasource(transaction, 'other'))
    let isSecondIn = false
    const second = parallel.transaction(async (transaction) => {
      await lockDatasource(transaction, 'locked')
      isSecondIn = true
    })
    await waitUntil('the second waits', async () => {
      const rows = await database.query(
        sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      )
      return rows.length === 1
    })
    assert.equal(isSecondIn, false)
    await first.end(true)
    await second
    assert.equal(isSecondIn, true)
  })
})

describe('a change reader', () => {
  it('first sees used segments, then changes since', async () => {
    const [one, two, three] = [0, 1, 2].map((number) => segment('followed', number)) as [
      Segment,
      Segment,
      Segment,
    ]
    await copy([one, two])
    await markUnused(database, [two.id], { kind: 'request', identity: 'me' }, now)
    const reader = createReader()
    const first = await reader.look()
    assert.ok(first.used.some(({ id }) => id === one.id))
    assert.ok(!first.used.some(({ id }) => id === two.id))
    assert.deepEqual(first.gone, [])
    await copy([three])
    await markUnused(database, [one.id], { kind: 'request', identity: 'me' }, now)
    const changes = await reader.look()
    assert.ok(changes.gone.includes(one.id))
    assert.ok(changes.used.some(({ id }) => id === three.id))
  })

  it('reads only changes', async () => {
    const reader = createReader()
    await reader.look()
    // While a transaction in any database of this Postgres server is open, changes after its start are read again.
    await waitUntil(
      'nothing is read again',
      async () => {
        await database.query(sql`SELECT pg_current_xact_id()`)
        const { used, gone } = await reader.look()
        return [...used, ...gone]
      },
      (read) => read.length === 0,
    )
  })

  it('sees deleted segments as removed, and those added again with the same ID as present', async () => {
    const [gone, back] = [segment('removed', 0), segment('removed', 1)]
    await copy([gone, back])
    const reader = createReader()
    await reader.look()
    await markUnused(database, [gone.id, back.id], { kind: 'request', identity: 'me' }, now)
    await eraseUnused(database, [gone.id, back.id])
    await copy([back])
    const changes = await reader.look()
    assert.ok(changes.gone.includes(gone.id))
    assert.deepEqual([reader.used.has(gone.id), reader.used.has(back.id)], [false, true])
  })

  it('sees removals as long as they are kept', async () => {
    await forgetOldRemovals(database, 3_600_000)
    const kept = await database.query(sql`SELECT id FROM segment_removals`)
    assert.ok(kept.length > 0)
    await forgetOldRemovals(database, 0)
    assert.deepEqual(await database.query(sql`SELECT id FROM segment_removals`), [])
  })

  it('misses no change, in whatever order overlapping transactions end', async () => {
    const ids = [0, 1, 2, 3, 4, 5]
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 }), async (choices) => {
        const name = `random${runs++}`
        const segments = ids.map((number) => segment(name, number))
        const open: { handle: Awaited<ReturnType<typeof begin>>; touched: Set<number> }[] = []
        const reader = createReader()
        const step = async (choice: number) => {
          const kind = choice % 8
          const rest = Math.floor(choice / 8)
          if (kind === 0 && open.length < 4) {
            open.push({ handle: await begin(), touched: new Set() })
          } else if (kind <= 4) {
            const writer = open[rest % Math.max(open.length, 1)]
            const number = rest % ids.length
            // This transaction would wait for a row that another one has locked.
            if (!writer || open.some((other) => other !== writer && other.touched.has(number))) return
            writer.touched.add(number)
            const one = segments[number] as Segment
            const { transaction } = writer.handle
            const [row] = await transaction.query<{ used: boolean }>(
              sql`SELECT used FROM segments WHERE id = ${one.id}`,
            )
            if (!row) await copySegments(transaction, [withPayload(one)], undefined, now)
            else if (row.used)
              await markUnused(transaction, [one.id], { kind: 'request', identity: 'me' }, now)
            else if (kind % 2 === 0) await markUsed(transaction, [one.id], now)
            else await eraseUnused(transaction, [one.id])
          } else if (kind === 5) {
            const [writer] = open.splice(rest % Math.max(open.length, 1), 1)
            await writer?.handle.end(rest % 4 !== 0)
          } else {
            await reader.look()
            assert.deepEqual([...reader.used].sort(), (await usedNow()).sort())
          }
        }
        try {
          for (const choice of choices) await step(choice)
        } finally {
          for (const { handle } of open) await handle.end(true)
        }
        await reader.look()
        assert.deepEqual([...reader.used].sort(), (await usedNow()).sort())
      }),
      { numRuns: 25 },
    )
  })

  it('ends up with exactly the used segments after concurrent writes', async () => {
    const reader = createReader()
    let isOver = false
    const writing = Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (let round = 0; round < 12; round++) {
          const mine = [0, 1, 2].map((number) => segment(`busy${writer}`, round * 3 + number))
          await parallel.transaction(async (transaction) => {
            await copySegments(
              transaction,
              mine.map((one) => withPayload(one)),
              undefined,
              now,
            )
            if (round > 0)
              await markUnused(
                transaction,
                [segment(`busy${writer}`, round * 3 - 1).id],
                { kind: 'request', identity: 'me' },
                now,
              )
            if (round > 1) await eraseUnused(transaction, [segment(`busy${writer}`, round * 3 - 4).id])
          })
        }
      }),
    ).finally(() => {
      isOver = true
    })
    while (!isOver) await reader.look()
    await writing
    await reader.look()
    assert.deepEqual([...reader.used].sort(), (await usedNow()).sort())
    assert.equal([...reader.used].filter((id) => id.startsWith('busy')).length, 8 * (12 * 3 - 11))
  })
})
