import assert from 'node:assert/strict'
import { addAbortSignal, PassThrough, Readable, Transform } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { segmentId } from '@svc/domain/segment'
import { createTestStores, loadAudit, storeSegments } from '../testing/index.ts'
import {
  canRestore,
  dumpTables,
  knownMigrations,
  loadSegmentRecords,
  migrateSchema,
  restoreTables,
  saveAudit,
} from './index.ts'

const key = { dataSource: 'wi"ki\\', interval: { start: 0, end: 1 }, version: 'v\t1', partitionNum: 0 }
const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
const audit = { type: 'rules', key: 'wiki', author: '', comment: 'a\nb', identity: '', ip: '', payload: '[]' }

async function dumpOf(stores: Awaited<ReturnType<typeof createTestStores>>) {
  const streams = new Map<string, Promise<string>>()
  const collect = (name: string) => {
    const stream = new PassThrough()
    streams.set(name, text(stream))
    return stream
  }
  const tables = await dumpTables(stores.database, { table: collect, files: () => collect('files') })
  const texts = new Map<string, string>()
  for (const [name, value] of streams) texts.set(name, await value)
  return { tables, texts }
}

describe('a dump', () => {
  it('restores the same rows in another database, where sequences continue after them', async () => {
    const [from, to] = [await createTestStores({ after }), await createTestStores({ after })]
    await storeSegments(from.database, [segment], 'a/0.parquet')
    await saveAudit(from.database, audit, 5)
    const { tables, texts } = await dumpOf(from)
    assert.equal(texts.get('files'), 'sha256:00\t10\ta/0.parquet\n')
    assert.ok(!tables.some(({ name }) => name === 'nodes'))
    await restoreTables(to.database, knownMigrations(), tables, (name) =>
      Readable.from([texts.get(name) ?? '']),
    )
    assert.deepEqual(await loadSegmentRecords(to.database, {}), await loadSegmentRecords(from.database, {}))
    await saveAudit(to.database, audit, 6)
    const entries = await loadAudit(to.database, { type: 'rules' })
    assert.deepEqual(
      entries.map(({ comment, createdAt }) => [comment, createdAt]),
      [
        ['a\nb', 5],
        ['a\nb', 6],
      ],
    )
    assert.deepEqual((await dumpOf(to)).texts.get('segments'), texts.get('segments'))
  })

  it('that does not match the schema restores nothing', async () => {
    const stores = await createTestStores({ after })
    await storeSegments(stores.database, [segment])
    const { tables, texts } = await dumpOf(stores)
    const read = (name: string) => Readable.from([name === 'tasks' ? 'nonsense\n' : (texts.get(name) ?? '')])
    await assert.rejects(
      restoreTables(stores.database, knownMigrations(), tables, read),
      /missing data|invalid input/,
    )
    assert.equal((await loadSegmentRecords(stores.database, {})).length, 1)
    const unknown = [{ name: 'koalas', columns: ['id'] }]
    await assert.rejects(
      restoreTables(stores.database, knownMigrations(), unknown, read),
      /no table \[koalas\]/,
    )
  })

  it('whose reading is aborted restores nothing', async () => {
    const stores = await createTestStores({ after })
    await storeSegments(stores.database, [segment])
    const { tables, texts } = await dumpOf(stores)
    const stop = new AbortController()
    const endless = new Readable({ read: () => stop.abort() })
    await assert.rejects(
      restoreTables(stores.database, knownMigrations(), tables, (name) =>
        addAbortSignal(stop.signal, name === 'tasks' ? endless : Readable.from([texts.get(name) ?? ''])),
      ),
      /operation was aborted/,
    )
    assert.equal((await loadSegmentRecords(stores.database, {})).length, 1)
  })

  it('is a snapshot, whatever is written meanwhile', async () => {
    const stores = await createTestStores({ after })
    const ids: string[] = []
    await dumpTables(stores.database, {
      table: (name) => {
        // The first table is finished only after another one has changed.
        const stream = new Transform({
          transform: (chunk, _encoding, done) => done(null, chunk),
          flush: (done) => {
            if (name === 'audit') storeSegments(stores.database, [segment]).then(() => done(), done)
            else done()
          },
        })
        if (name === 'segments') stream.on('data', (chunk) => ids.push(String(chunk)))
        else stream.resume()
        return stream
      },
      files: () => new PassThrough().resume(),
    })
    assert.equal((await loadSegmentRecords(stores.database, {})).length, 1)
    assert.deepEqual(ids, [])
  })

  it('can be restored if its migrations are the first known ones', async () => {
    const known = knownMigrations()
    assert.ok(canRestore(known))
    assert.ok(canRestore(known.slice(0, 2)))
    assert.ok(!canRestore([]))
    assert.ok(!canRestore(known.slice(1)))
    assert.ok(!canRestore([...known, '9999_later']))
    await migrateSchema((await createTestStores({ after })).database)
  })
})
