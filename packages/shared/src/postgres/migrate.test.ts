import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, it } from 'node:test'
import { createTestStores } from '../testing/index.ts'
import { type Database, isSchemaCurrent, migrateSchema, sql } from './index.ts'

const known = readdirSync(new URL('./migrations/', import.meta.url))
  .map((file) => file.replace('.sql', ''))
  .sort()

const appliedIn = async (database: Database) =>
  (await database.query<{ name: string }>(sql`SELECT name FROM schema_migrations ORDER BY name`)).map(
    ({ name }) => name,
  )

describe('the schema', () => {
  it('is created once', async (context) => {
    const { database } = await createTestStores(context, { isEmpty: true })
    assert.equal(await isSchemaCurrent(database), false)
    await migrateSchema(database)
    assert.equal(await isSchemaCurrent(database), true)
    assert.deepEqual(await appliedIn(database), known)
    await migrateSchema(database)
    assert.deepEqual(await appliedIn(database), known)
  })

  it('is created once by concurrent servers', async (context) => {
    const stores = await createTestStores(context, { isEmpty: true })
    const servers = Array.from({ length: 4 }, () => stores.connect(2))
    await Promise.all(servers.map((server) => migrateSchema(server)))
    assert.deepEqual(await appliedIn(stores.database), known)
    for (const server of servers) assert.equal(await isSchemaCurrent(server), true)
  })

  it('of a newer version is rejected and not changed', async (context) => {
    const { database } = await createTestStores(context)
    await database.query(
      sql`INSERT INTO schema_migrations (name, run_on) VALUES ('9999_from-the-future', now())`,
    )
    const newer = {
      name: 'Error',
      message: `The metadata store was written by a newer version: its schema has migration [9999_from-the-future], but this version only knows migrations up to [${known.at(-1)}]`,
    }
    await assert.rejects(isSchemaCurrent(database), newer)
    await assert.rejects(migrateSchema(database), newer)
  })

  it('is not created at all if a migration fails', async (context) => {
    const { database } = await createTestStores(context, { isEmpty: true })
    // A table that one of the migrations creates already exists.
    await database.query(sql`CREATE TABLE tasks (other int)`)
    await assert.rejects(migrateSchema(database), /tasks/)
    const tables = await database.query<{ name: string }>(
      sql`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    )
    assert.deepEqual(tables, [{ name: 'tasks' }])
    await database.query(sql`DROP TABLE tasks`)
    await migrateSchema(database)
    assert.equal(await isSchemaCurrent(database), true)
  })

  it('is not confused with tables in another Postgres schema', async (context) => {
    const { database } = await createTestStores(context, { isEmpty: true })
    await database.query(sql`CREATE SCHEMA other`)
    await database.query(sql`CREATE TABLE other.schema_migrations (name text)`)
    assert.equal(await isSchemaCurrent(database), false)
  })
})
