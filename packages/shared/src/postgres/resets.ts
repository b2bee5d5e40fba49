import { setTimeout as delay } from 'node:timers/promises'
import { timedOut } from '@svc/domain/failure'
import { type Database, type Queries, sql, type Transaction } from './database.ts'
import { copyStore } from './store-copies.ts'

/** The advisory lock that is held while the content of the store is replaced. */
const resetLock = 7_031_901

const pollMs = 2

/** Waits until a replacement of the content of the store that is in progress has ended. */
export async function waitForReset(database: Database): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.query(sql`SET LOCAL lock_timeout = 0`)
    await transaction.query(sql`SELECT pg_advisory_xact_lock_shared(${resetLock})`)
  })
}

/** The servers that use the store. */
export interface WaitingServers {
  /** Number of servers. */
  readonly servers: number
  /** Makes each of them stop its work, call `waitForReset`, and begin again. Resolves when they all have. */
  begin(): Promise<unknown>
  readonly timeoutMs: number
}

/**
 * Runs `work` in a transaction while the servers wait in `waitForReset`, so that none of them uses the store. Resolves
 * when they work again. Throws a `timedOut` Failure if some of them do not stop in time, and the error of a server that
 * fails. In any case, none of them waits any longer.
 */
export async function whileServersWait(
  database: Database,
  { servers, begin, timeoutMs }: WaitingServers,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  let begun: Promise<unknown> | undefined
  await database.transaction(async (transaction) => {
    await transaction.query(sql`SET LOCAL idle_in_transaction_session_timeout = 0`)
    await transaction.query(sql`SELECT pg_advisory_xact_lock(${resetLock})`)
    const deadline = performance.now() + timeoutMs
    let failure: { readonly error: unknown } | undefined
    begun = begin()
    begun.catch((error) => {
      failure = { error }
    })
    for (;;) {
      const waiting = await waitingServers(transaction)
      if (failure) throw failure.error
      if (waiting >= servers) break
      if (performance.now() > deadline)
        throw timedOut(`Only [${waiting}] of [${servers}] servers stopped within [${timeoutMs}] ms`)
      await delay(pollMs)
    }
    await work(transaction)
  })
  await begun
}

async function waitingServers(transaction: Transaction): Promise<number> {
  const [row] = await transaction.query<{ waiting: number }>(sql`
    SELECT count(*) AS waiting FROM pg_locks
    WHERE locktype = 'advisory' AND objid = ${resetLock} AND mode = 'ShareLock' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
  return row!.waiting
}

/** The name of the copy of the store in which the cluster started first. Snapshots have no spaces in their names. */
export const initialState = 'initial state'

/** Stores the current state as the initial one, unless the store already contains one. */
export async function keepInitialState(database: Database): Promise<void> {
  await copyStore(database, initialState, { keepsExisting: true })
}

/** The last reset. */
export interface StoredReset {
  readonly id: string
  /** The servers that it stopped. */
  readonly servers: readonly string[]
  /** Why it failed; null if it did not. */
  readonly problem: string | null
}

/** Creates the table for the last reset. It is in a schema of its own, so that resets do not change it. */
export async function createResetTable(database: Database): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.query(sql`SELECT pg_advisory_xact_lock(${resetLock})`)
    await transaction.query(sql`CREATE SCHEMA IF NOT EXISTS resets`)
    await transaction.query(
      sql`CREATE TABLE IF NOT EXISTS resets.last (id text, servers text[], problem text)`,
    )
  })
}

/** Stores the result of a reset, and forgets the one before. */
export async function saveReset(queries: Queries, { id, servers, problem }: StoredReset): Promise<void> {
  await queries.query(sql`DELETE FROM resets.last`)
  await queries.query(
    sql`INSERT INTO resets.last (id, servers, problem) VALUES (${id}, ${[...servers]}, ${problem})`,
  )
}

/** Returns the last reset if it has this ID. */
export async function loadReset(queries: Queries, id: string): Promise<StoredReset | undefined> {
  const [row] = await queries.query<StoredReset>(
    sql`SELECT id, servers, problem FROM resets.last WHERE id = ${id}`,
  )
  return row
}
