import { randomUUID } from 'node:crypto'
import { raw } from 'sql-template-tag'
import type { Role, Settings } from '../config/index.ts'
import { createDatabase, type Database, sql } from '../postgres/index.ts'
import { testSettings } from './settings.ts'
import type { Scope } from './temporary.ts'

/** A database and a Redis key prefix for one test file. */
export interface TestStores {
  /** Returns the settings of a server that uses these stores. */
  settings(role: Role, properties?: Readonly<Record<string, string>>): Settings
  /** Opens another connection pool for the database; it is closed at the end of the scope. */
  connect(connections: number, applicationName?: string): Database
  readonly database: Database
  /** Removes all keys with this prefix, as if Redis had lost them. */
  emptyQueues(): Promise<void>
}

/**
 * Creates a database with the schema of this version, or an empty one. `./svc dev test` runs Postgres and Redis for all
 * test files and passes their settings in SVC_TEST_STORES; the database in these settings is a template with the schema,
 * because copying it is faster than creating the schema.
 */
export async function createTestStores(
  scope: Scope,
  options: { readonly isEmpty?: boolean } = {},
): Promise<TestStores> {
  const file = process.env.SVC_TEST_STORES
  if (file === undefined)
    throw new Error('SVC_TEST_STORES is not set: run this file with ./svc dev test PATH')
  const name = `svc_test_${randomUUID().replaceAll('-', '')}`
  const settings = (role: Role, properties: Readonly<Record<string, string>> = {}) =>
    testSettings(
      role,
      { 'svc.metadata.storage.connector.database': name, 'svc.queue.prefix': name, ...properties },
      [file],
    )
  const asAdministrator = async (statement: string): Promise<void> => {
    // Not the database in the settings: a template must not have connections.
    const other = { 'svc.metadata.storage.connector.database': 'postgres' }
    const database = createDatabase(testSettings('coordinator', other, [file]), {
      connections: 1,
      applicationName: 'tests',
    })
    try {
      await database.query(sql`${raw(statement)}`)
    } finally {
      await database.close()
    }
  }
  const template = testSettings('coordinator', {}, [file]).get('svc.metadata.storage.connector.database')
  await asAdministrator(`CREATE DATABASE ${name} TEMPLATE ${options.isEmpty ? 'template1' : template}`)
  const opened: Database[] = []
  const connect = (connections: number, applicationName = 'test') => {
    const database = createDatabase(settings('coordinator'), { connections, applicationName })
    opened.push(database)
    return database
  }
  const database = connect(4)
  scope.after(async () => {
    await Promise.all(opened.map((one) => one.close().catch(() => undefined)))
    await asAdministrator(`DROP DATABASE ${name} WITH (FORCE)`)
  })
  return {
    settings,
    connect,
    database,
    emptyQueues: async () => {
      // Loaded on first use, like the parts of servers in other helpers.
      const { openProducerConnection } = await import('../redis/index.ts')
      const redis = openProducerConnection(settings('coordinator'))
      await new Promise((resolve) => redis.once('ready', resolve))
      const keys = await redis.keys(`${name}:*`)
      if (keys.length > 0) await redis.del(...keys)
      redis.disconnect()
    },
  }
}
