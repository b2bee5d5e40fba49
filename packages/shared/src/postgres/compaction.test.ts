import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { defaultClusterConfig, parseCompactionConfig } from '@svc/domain/compaction'
import type { Failure } from '@svc/domain/failure'
import { createTestStores, loadAudit } from '../testing/index.ts'
import {
  type CompactionHistoryEntry,
  changeClusterCompactionConfig,
  compactionHistoryPages,
  deleteCompactionConfig,
  loadClusterCompactionConfig,
  loadCompactionConfig,
  loadCompactionConfigs,
  loadCompactionStates,
  loadCompactionSupervisor,
  loadCompactionSupervisors,
  type SupervisorVersion,
  saveCompactionConfig,
  saveCompactionState,
  saveCompactionSupervisor,
  sql,
  supervisorVersionPages,
  suspendCompactionSupervisor,
  terminateCompactionSupervisor,
} from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const author = { author: 'ann', comment: 'why', identity: 'admin', ip: '127.0.0.1' }
const now = Date.UTC(2026, 0, 1)
const config = (dataSource: string, more: object = {}) => parseCompactionConfig({ dataSource, ...more })

beforeEach(async () => {
  for (const table of [
    'compaction_configs',
    'compaction_history',
    'supervisors',
    'dynamic_configs',
    'audit',
  ]) {
    await database.query(sql([`DELETE FROM "${table}"`]))
  }
})

type HistoryQuery = Parameters<typeof compactionHistoryPages>[1]
const pagesOf = async (query: HistoryQuery) => {
  const pages: CompactionHistoryEntry[][] = []
  for await (const page of compactionHistoryPages(database, query)) pages.push(page)
  return pages
}
const entriesOf = async (query: HistoryQuery) => (await pagesOf(query)).flat()
const history = (dataSource: string, query: object = {}) =>
  entriesOf({ dataSource, ofSupervisor: false, ...query })

describe('compaction configs', () => {
  it('are stored, audited, read, replaced, and removed', async () => {
    await saveCompactionConfig(database, config('b'), author, now)
    await saveCompactionConfig(database, config('a'), author, now)
    await saveCompactionConfig(database, config('a', { taskPriority: 3 }), author, now)
    assert.deepEqual(await loadCompactionConfigs(database), [config('a', { taskPriority: 3 }), config('b')])
    assert.equal(await deleteCompactionConfig(database, 'a', author, now), true)
    assert.equal(await deleteCompactionConfig(database, 'a', author, now), false)
    assert.equal(await loadCompactionConfig(database, 'a'), undefined)
    assert.equal((await loadAudit(database, { type: 'compaction.config', key: 'a' })).length, 3)
  })

  it('with an engine that duties do not support are rejected, and nothing changes', async () => {
    await assert.rejects(
      saveCompactionConfig(database, config('a', { engine: 'msq' }), author, now),
      ({ code }: Failure) => code === 'invalidInput',
    )
    assert.deepEqual(await history('a'), [])
    assert.deepEqual(await loadAudit(database, { type: 'compaction.config' }), [])
  })

  it('have a history of their own changes and of cluster config changes', async () => {
    await saveCompactionConfig(database, config('a'), author, now)
    await saveCompactionConfig(database, config('a'), author, now + 1)
    const half = { ...defaultClusterConfig, compactionTaskSlotRatio: 0.5 }
    await changeClusterCompactionConfig(database, () => half, author, now + 2)
    await changeClusterCompactionConfig(database, () => half, author, now + 3)
    await saveCompactionConfig(database, config('b'), author, now + 4)
    await deleteCompactionConfig(database, 'a', author, now + 5)
    await changeClusterCompactionConfig(database, () => defaultClusterConfig, author, now + 6)
    const entries = await history('a')
    assert.deepEqual(
      entries.map(({ createdAt, globalConfig, compactionConfig, comment }) => [
        createdAt - now,
        JSON.parse(globalConfig).compactionTaskSlotRatio,
        compactionConfig === null,
        comment,
      ]),
      [
        [0, 0.1, false, 'why'],
        [2, 0.5, false, 'why'],
        [5, 0.5, true, 'why'],
        [6, 0.1, true, 'why'],
      ],
    )
    assert.deepEqual(await history('a', { count: 1 }), entries.slice(-1))
    assert.deepEqual(await history('a', { interval: { start: now + 1, end: now + 5 } }), [entries[1]])
    assert.equal((await history('b')).length, 2)
  })

  it('change sequentially, so that no concurrent change is lost', async () => {
    await Promise.all(
      Array.from({ length: 8 }, () =>
        changeClusterCompactionConfig(
          database,
          (present) => ({
            ...present,
            maxCompactionTaskSlots: present.maxCompactionTaskSlots - 1,
          }),
          author,
          now,
        ),
      ),
    )
    const { maxCompactionTaskSlots } = await loadClusterCompactionConfig(database)
    assert.equal(defaultClusterConfig.maxCompactionTaskSlots - maxCompactionTaskSlots, 8)
  })
})

describe('compaction supervisors', () => {
  const id = 'autocompact__a'
  const versionPagesOf = async (canRead: (dataSource: string) => boolean, of: string | null = null) => {
    const pages: SupervisorVersion[][] = []
    for await (const page of supervisorVersionPages(database, { id: of, readable: async () => canRead }))
      pages.push(page)
    return pages
  }
  const versionsOf = async (canRead: (dataSource: string) => boolean, of: string | null = null) =>
    (await versionPagesOf(canRead, of)).flat()

  it('keep every version, and disappear once terminated', async () => {
    await saveCompactionSupervisor(database, { config: config('a'), suspended: false }, author, now)
    await suspendCompactionSupervisor(database, id, true, author, now + 1)
    await suspendCompactionSupervisor(database, id, true, author, now + 2)
    assert.deepEqual(await loadCompactionSupervisors(database), [
      { id, dataSource: 'a', config: config('a'), suspended: true },
    ])
    assert.equal(await terminateCompactionSupervisor(database, 'a', author, now + 3), true)
    assert.equal(await terminateCompactionSupervisor(database, 'a', author, now + 3), false)
    assert.deepEqual(await loadCompactionSupervisors(database), [])
    assert.equal(await loadCompactionSupervisor(database, id), undefined)
    const versions = await versionsOf(() => true, id)
    assert.deepEqual(
      versions.map(({ spec, createdAt }) => [(JSON.parse(spec) as { type: string }).type, createdAt - now]),
      [
        ['noop', 3],
        ['autocompact', 1],
        ['autocompact', 0],
      ],
    )
    const own = await entriesOf({ dataSource: 'a', ofSupervisor: true })
    assert.deepEqual(
      own.map(({ compactionConfig }) => compactionConfig === null),
      [false, true],
    )
    assert.deepEqual(await history('a'), [])
  })

  it('may have strings that Postgres cannot read', async () => {
    const strange = config('a', { taskContext: { note: 'a\0b \ud83d' } })
    await saveCompactionSupervisor(database, { config: strange, suspended: false }, author, now)
    await saveCompactionSupervisor(database, { config: config('b'), suspended: false }, author, now)
    await terminateCompactionSupervisor(database, 'b', author, now)
    const supervisors = await loadCompactionSupervisors(database)
    assert.deepEqual(
      supervisors.map(({ config: { dataSource, taskContext } }) => [dataSource, taskContext]),
      [['a', strange.taskContext]],
    )
    await changeClusterCompactionConfig(
      database,
      (present) => ({ ...present, useSupervisors: !present.useSupervisors }),
      author,
      now,
    )
    assert.equal((await entriesOf({ dataSource: 'a', ofSupervisor: true })).length, 2)
  })

  it('have versions that are read in pages, with those of a supervisor together', async () => {
    const long = 'x'.repeat(100_000)
    for (let index = 0; index < 12; index++)
      await saveCompactionSupervisor(
        database,
        { config: config(index % 3 === 0 ? 'y' : 'z', { taskContext: { index, long } }), suspended: false },
        author,
        now + index,
      )
    const pages = await versionPagesOf((dataSource) => dataSource > 'x')
    assert.ok(pages.length > 1)
    assert.deepEqual(
      pages.flat().map((version) => [version.id.at(-1), version.createdAt - now]),
      [11, 10, 8, 7, 5, 4, 2, 1].map((at) => ['z', at]).concat([9, 6, 3, 0].map((at) => ['y', at])),
    )
    assert.deepEqual(await versionsOf(() => false), [])
    assert.equal((await versionsOf(() => true, 'autocompact__y')).length, 4)
  })

  it('have a history that is read in pages', async () => {
    const long = 'x'.repeat(100_000)
    for (let index = 0; index < 6; index++)
      await saveCompactionConfig(
        database,
        config('long', { taskContext: { index, long } }),
        author,
        now + index,
      )
    const pages = await pagesOf({ dataSource: 'long', ofSupervisor: false })
    assert.deepEqual(
      pages.map(({ length }) => length),
      [2, 2, 2],
    )
    const times = (entries: readonly { readonly createdAt: number }[]) =>
      entries.map(({ createdAt }) => createdAt - now)
    assert.deepEqual(times(pages.flat()), [0, 1, 2, 3, 4, 5])
    assert.deepEqual(times(await history('long', { count: 5 })), [5, 4, 3, 2, 1])
  })

  it('cannot be suspended if they do not exist', async () => {
    await assert.rejects(
      suspendCompactionSupervisor(database, 'autocompact__none', true, author, now),
      ({ code }: Failure) => code === 'notFound',
    )
  })
})

describe('a compaction state', () => {
  it('is stored once under its fingerprint', async () => {
    const state = { dataSource: 'a', state: { b: 1, a: 2 } }
    const [first, second, other] = await database.transaction(async (transaction) => [
      await saveCompactionState(transaction, state),
      await saveCompactionState(transaction, { ...state, state: { a: 2, b: 1, c: null } }),
      await saveCompactionState(transaction, { ...state, dataSource: 'b' }),
    ])
    assert.deepEqual(first, second)
    assert.notEqual(first?.id, other?.id)
  })

  it('stores an unlimited maximum as an exact 64-bit integer', async () => {
    const state = { partitionsSpec: { type: 'dynamic', maxTotalRows: 2 ** 63 } }
    const { id } = await saveCompactionState(database, { dataSource: 'a', state })
    assert.deepEqual(
      await database.query(sql`SELECT state::text AS text FROM compaction_states WHERE id = ${id}`),
      [{ text: '{"partitionsSpec":{"type":"dynamic","maxTotalRows":9223372036854775807}}' }],
    )
    assert.deepEqual((await loadCompactionStates(database)).get(id), state)
  })
})
