import { readFileSync } from 'node:fs'
import { type ConnectionOptions, checkServerIdentity } from 'node:tls'
import { describeError, Failure, invalidInput, unavailable } from '@svc/domain/failure'
import pg from 'pg'
import sql, { type Sql } from 'sql-template-tag'
import type { Settings } from '../config/index.ts'

export { sql }

// Times of the store are read as milliseconds since the epoch, its big integers as numbers: sizes, counts and
// times are far below 2^53.
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) =>
  Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')),
)
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** Statements that run together: in a transaction, or each by itself. */
export interface Queries {
  query<Row>(statement: Sql): Promise<Row[]>
}

/** The metadata store. Its being away is an `unavailable` failure. */
export interface Database extends Queries {
  transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result>
  /** Calls back at every notice on a channel, and once after each time the connection had to be made anew. */
  listen(channel: string, onNotice: () => void): Promise<void>
  close(): Promise<void>
}

/** A transaction; `client` is the bare connection, for COPY. */
export interface Transaction extends Queries {
  readonly client: pg.PoolClient
}

/** The connection pool of a server; nothing is connected before the first statement. */
export function createDatabase(
  settings: Settings,
  options: { connections: number; applicationName: string },
): Database {
  const connection = {
    host: settings.get('svc.metadata.storage.connector.host'),
    port: settings.get('svc.metadata.storage.connector.port'),
    database: settings.get('svc.metadata.storage.connector.database'),
    user: settings.get('svc.metadata.storage.connector.user'),
    password: settings.get('svc.metadata.storage.connector.password'),
    application_name: options.applicationName,
    ssl: storeTls(settings),
  }
  const pool = new pg.Pool({
    ...connection,
    max: options.connections,
    connectionTimeoutMillis: 5000,
    // Each idle connection is a process of the store: what a burst needed goes soon after it.
    idleTimeoutMillis: 5000,
    keepAlive: true,
    statement_timeout: 60_000,
    // The answer to a statement that the store has ended, or never saw, does not come at all.
    query_timeout: 65_000,
    lock_timeout: 10_000,
    // A server that stands still in a transaction must not hold its locks: whoever takes over waits for them.
    idle_in_transaction_session_timeout: 4000,
  })
  // A connection that breaks is replaced at the next statement; whoever uses it just then hears of it by that. It may
  // tell its end more than once, and without a listener each time would end this process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const listeners = new Set<{ close(): Promise<void> }>()

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
    listen: async (channel, onNotice) => {
      listeners.add(await keepListening(connection, channel, onNotice))
    },
    close: async () => {
      await Promise.all([...listeners].map((listener) => listener.close()))
      await pool.end()
    },
  }
}

/** How TLS to the metadata store is spoken; false without it. */
function storeTls(settings: Settings): false | ConnectionOptions {
  const mode = settings.get('svc.metadata.storage.connector.tls.mode')
  const caPath = settings.get('svc.metadata.storage.connector.tls.caPath')
  const host = settings.get('svc.metadata.storage.connector.host')
  if (mode === 'disable') return false
  return {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: mode !== 'require',
    ...(caPath === undefined ? {} : { ca: readFileSync(caPath) }),
    // The driver does not say to TLS which host it called, where that is an address.
    checkServerIdentity: (_name, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
  }
}

// Both are told before anything was sent.
const connectionTimeoutPattern =
  /^(timeout exceeded when trying to connect|Connection terminated due to connection timeout)$/

/**
 * Tries once more where no connection came about in time: the timer of the driver runs on while this process or the
 * machine is busy with something else, and the next one often has it at once.
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

/** A connection of its own that hears notices; made anew, with a notice to the listener, whenever it breaks. */
async function keepListening(connection: pg.ClientConfig, channel: string, onNotice: () => void) {
  let closed = false
  let client: pg.Client | undefined
  const connect = async (): Promise<void> => {
    const next = new pg.Client({ ...connection, keepAlive: true })
    next.on('notification', onNotice)
    next.on('error', () => reconnect(next))
    next.on('end', () => reconnect(next))
    client = next
    await next.connect()
    await next.query(`LISTEN ${channel}`)
  }
  const reconnect = (broken: pg.Client): void => {
    if (closed || client !== broken) return
    client = undefined
    broken.end().catch(() => undefined)
    setTimeout(() => {
      if (closed) return
      connect().then(onNotice, () => client && reconnect(client))
    }, 250).unref()
  }
  const close = async (): Promise<void> => {
    closed = true
    await client?.end().catch(() => undefined)
  }
  try {
    await connect()
  } catch (error) {
    await close()
    throw storeFailure(error)
  }
  return { close }
}

// Classes of SQLSTATE that mean the store is away or going down, not that a statement is wrong:
// 08 connection, 57 operator intervention, 53 insufficient resources (among them a full disk).
const awayPattern = /^(08|57|53)/
const statePattern = /^[0-9A-Z]{5}$/
// What the driver says, without a code, of a connection that is none any more or has not come about.
const brokenPattern = /timeout|terminated|closed|ended|not queryable|after calling end/i

/** An error of the driver as a failure of ours, where it is not the statement that is wrong. */
export function storeFailure(error: unknown): unknown {
  if (error instanceof Failure) return error
  const { code, message } = error as { code?: string; message?: string }
  if (code === '22021')
    return invalidInput('A text holds the character U+0000, which cannot be stored', {}, error)
  const socket = code !== undefined && /^E[A-Z_]+$/.test(code)
  const broken = error instanceof AggregateError || (code === undefined && brokenPattern.test(message ?? ''))
  const untrusted = code !== undefined && /CERT|ISSUER|SIGNATURE/.test(code)
  const away = code !== undefined && statePattern.test(code) && awayPattern.test(code)
  if (!broken && !socket && !untrusted && !away) return error
  const fullDisk = code === '53100' ? ' (its disk is full)' : ''
  return unavailable(`The metadata store cannot be used now${fullDisk}`, {}, new Error(describeError(error)))
}
