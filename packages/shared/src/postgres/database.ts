import { readFileSync } from 'node:fs'
import { type ConnectionOptions, checkServerIdentity } from 'node:tls'
import { describeError, Failure, invalidInput, unavailable } from '@svc/domain/failure'
import pg from 'pg'
import sql, { type Sql } from 'sql-template-tag'
import type { Settings } from '../config/index.ts'
import { minTlsVersion } from '../tls/index.ts'
import { type Listener, Notices, type OnNotice } from './notices.ts'

export { sql }

// Timestamps are read as milliseconds since the epoch, and big integers as numbers: sizes, counts, and times are far
// below 2^53.
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) =>
  Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')),
)
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** Runs statements: in one transaction, or each on its own. */
export interface Queries {
  query<Row>(statement: Sql): Promise<Row[]>
}

/** The metadata store. If it is unavailable, calls throw an `unavailable` Failure. */
export interface Database extends Queries {
  transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result>
  /**
   * Calls back with the payload of every notification on a channel, and with undefined after each reconnect, because
   * notifications may have been missed. All listeners share one connection.
   */
  listen(channel: string, onNotice: OnNotice): Promise<Listener>
  close(): Promise<void>
}

/** A transaction; `client` is the underlying connection, for COPY. */
export interface Transaction extends Queries {
  readonly client: pg.PoolClient
}

/** What the driver reads from the environment, where users set it for other databases, and no property replaces it. */
const ignoredVariables = ['PGOPTIONS', 'PGCLIENTENCODING', 'PGSSLNEGOTIATION', 'PGREPLICATION']

/** Creates the connection pool of a server. It connects with the first statement. */
export function createDatabase(
  settings: Settings,
  options: { connections: number; applicationName: string },
): Database {
  for (const variable of ignoredVariables) delete process.env[variable]
  const connection = {
    host: settings.get('svc.metadata.storage.connector.host'),
    port: settings.get('svc.metadata.storage.connector.port'),
    database: settings.get('svc.metadata.storage.connector.database'),
    user: settings.get('svc.metadata.storage.connector.user'),
    password: settings.get('svc.metadata.storage.connector.password'),
    application_name: options.applicationName,
    ssl: storeTls(settings),
  }
  const pool = createPool(connection, options.connections)
  const notices = new Notices(connection)

  async function transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    const client = await onceMore(() => pool.connect()).catch((error) => Promise.reject(storeFailure(error)))
    let broken = false
    try {
      await runStatement(client, sql`BEGIN`)
      const result = await run({ client, query: (statement) => runStatement(client, statement) })
      await runStatement(client, sql`COMMIT`)
      return result
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {
        broken = true
      })
      throw error
    } finally {
      client.release(broken)
    }
  }

  return {
    query: (statement) =>
      onceMore(() => pool.query(statement)).then(
        ({ rows }) => rows,
        (error) => Promise.reject(storeFailure(error)),
      ),
    transaction,
    listen: (channel, onNotice) =>
      notices.listen(channel, onNotice).catch((error) => Promise.reject(storeFailure(error))),
    close: async () => {
      await Promise.all([notices.close(), pool.end()])
    },
  }
}

/** Creates a pool whose connections and statements time out. */
function createPool(connection: pg.ClientConfig, max: number): pg.Pool {
  const pool = new pg.Pool({
    ...connection,
    max,
    connectionTimeoutMillis: 5000,
    // Each idle connection is a Postgres process, so extra connections are closed soon after a burst.
    idleTimeoutMillis: 5000,
    keepAlive: true,
    statement_timeout: 60_000,
    // For statements that get no response at all, because Postgres never received them or has ended them.
    query_timeout: 65_000,
    lock_timeout: 10_000,
    // A server that hangs in a transaction must not keep its locks: the next leader waits for them.
    idle_in_transaction_session_timeout: 4000,
  })
  // A broken connection is replaced at the next statement, and its current user gets an error anyway. It may emit
  // several errors; without a listener, any of them would end this process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** TLS options for the metadata store; false without TLS. */
function storeTls(settings: Settings): false | ConnectionOptions {
  const mode = settings.get('svc.metadata.storage.connector.tls.mode')
  const caPath = settings.get('svc.metadata.storage.connector.tls.caPath')
  const host = settings.get('svc.metadata.storage.connector.host')
  if (mode === 'disable') return false
  return {
    minVersion: minTlsVersion,
    rejectUnauthorized: mode !== 'require',
    ...(caPath === undefined ? {} : { ca: readFileSync(caPath) }),
    // The driver does not pass the host to TLS if it is an IP address.
    checkServerIdentity: (_name, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
  }
}

// Both errors occur before anything is sent.
const connectionTimeoutPattern =
  /^(timeout exceeded when trying to connect|Connection terminated due to connection timeout)$/

/**
 * Retries once after a connection timeout: the driver's timer keeps running while this process or the machine is busy,
 * and the next attempt often succeeds immediately.
 */
async function onceMore<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt()
  } catch (error) {
    if (!connectionTimeoutPattern.test((error as Error).message)) throw error
    return await attempt()
  }
}

async function runStatement<Row>(on: pg.PoolClient, statement: Sql): Promise<Row[]> {
  try {
    return (await on.query(statement)).rows as Row[]
  } catch (error) {
    throw storeFailure(error)
  }
}

// SQLSTATE classes that mean Postgres is unavailable or shutting down, not that a statement is invalid:
// 08 connection, 57 operator intervention, 53 insufficient resources (including a full disk).
const unavailableStates = /^(08|57|53)/
const statePattern = /^[0-9A-Z]{5}$/
// The driver's messages, without a code, for connections that are closed or were never established.
const brokenPattern = /timeout|terminated|closed|ended|not queryable|after calling end/i

/** Converts a driver error to a Failure, unless the statement itself is invalid. */
export function storeFailure(error: unknown): unknown {
  if (error instanceof Failure) return error
  const { code, message } = error as { code?: string; message?: string }
  if (code === '22021')
    return invalidInput('A string contains the character U+0000, which cannot be stored', {}, error)
  const socket = code !== undefined && /^E[A-Z_]+$/.test(code)
  const broken = error instanceof AggregateError || (code === undefined && brokenPattern.test(message ?? ''))
  const untrusted = code !== undefined && /CERT|ISSUER|SIGNATURE/.test(code)
  const isUnavailable = code !== undefined && statePattern.test(code) && unavailableStates.test(code)
  if (!broken && !socket && !untrusted && !isUnavailable) return error
  const fullDisk = code === '53100' ? ' (its disk is full)' : ''
  return unavailable(`The metadata store is unavailable${fullDisk}`, {}, new Error(describeError(error)))
}
