import { describeError, Failure, unavailable } from '@svc/domain/failure'
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
  }
  const pool = new pg.Pool({
    ...connection,
    max: options.connections,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 30_000,
    statement_timeout: 60_000,
  })
  // A connection that breaks while idle is replaced at the next statement.
  pool.on('error', () => undefined)
  const listeners = new Set<{ close(): Promise<void> }>()

  async function transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    const client = await pool.connect().catch((error) => Promise.reject(storeFailure(error)))
    let broken = false
    try {
      await client.query('BEGIN')
      const result = await run({ client, query: (statement) => runStatement(client, statement) })
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {
        broken = true
      })
      throw storeFailure(error)
    } finally {
      client.release(broken)
    }
  }

  return {
    query: (statement) => runStatement(pool, statement),
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

async function runStatement<Row>(on: pg.Pool | pg.PoolClient, statement: Sql): Promise<Row[]> {
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
    next.once('error', () => reconnect(next))
    next.once('end', () => reconnect(next))
    client = next
    await next.connect()
    await next.query(`LISTEN ${channel}`)
  }
  const reconnect = (broken: pg.Client): void => {
    if (closed || client !== broken) return
    client = undefined
    setTimeout(() => {
      if (closed) return
      connect().then(onNotice, () => client && reconnect(client))
    }, 250).unref()
  }
  await connect()
  return {
    close: async () => {
      closed = true
      await client?.end().catch(() => undefined)
    },
  }
}

// Classes of SQLSTATE that mean the store is away or going down, not that a statement is wrong:
// 08 connection, 57 operator intervention, 53 insufficient resources (among them a full disk).
const awayPattern = /^(08|57|53)/

function storeFailure(error: unknown): unknown {
  if (error instanceof Failure) return error
  const { code, message } = error as { code?: string; message?: string }
  const broken = error instanceof AggregateError || /timeout|terminated|closed|ended/i.test(message ?? '')
  const socket = code !== undefined && /^E[A-Z]+$/.test(code)
  if (!broken && !socket && !(code && awayPattern.test(code))) return error
  const fullDisk = code === '53100' ? ' (its disk is full)' : ''
  return unavailable(`The metadata store cannot be used now${fullDisk}`, {}, new Error(describeError(error)))
}
