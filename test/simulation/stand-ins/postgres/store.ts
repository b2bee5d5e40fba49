import type { Machine, SimulatedProcess } from '../../kernel/index.ts'
import { epochMs } from '../globals.ts'
import { createTables, type Table, type Tables } from './tables.ts'

// As in the connections of the product.
const lockTimeoutMs = 10_000
const idleTimeoutMs = 4000

/** A row as a transaction sees it; undefined if it was deleted. */
type Change = unknown

type LockMode = 'share' | 'exclusive'

/** The changes of a transaction that has written nothing. */
const noChanges = new Map<Table<unknown>, Map<string, Change>>()

/** A transaction, or the connection of one. */
export class StoreTransaction {
  isOver = false
  /** Whether the store ended it, so that the next statement fails. */
  isTerminated = false
  /** Undefined while a statement is running. */
  idleSinceMs: number | undefined = 0
  readonly startedAt: number
  /** Number of the transaction; 0 until it writes. */
  number = 0
  changes: Map<Table<unknown>, Map<string, Change>> = noChanges
  /** The locks that it has; undefined if none. */
  locks: Lock[] | undefined
  /** Payloads of notifications to send, by channel. */
  notices: Map<string, Set<string>> | undefined
  /** The lock that it waits for. */
  waitsFor: string | undefined

  /** The machine that began it. */
  readonly from: string | undefined

  constructor(startedAt: number, from: string | undefined) {
    this.startedAt = startedAt
    this.from = from
  }
}

/** Thrown by a statement that needs a lock of another transaction. The statement runs again once the lock is free. */
class LockWait extends Error {
  readonly key: string

  constructor(key: string) {
    super(key)
    this.key = key
  }
}

interface Holder {
  readonly transaction: StoreTransaction
  mode: LockMode
}

/** A lock. It stays after its use, because most locks are taken again soon. */
interface Lock {
  readonly holders: Holder[]
  waiting: (() => void)[]
  /** Orders locks by the time at which they were taken while they were free. */
  takenAs: number
}

/** Receives notifications. */
export interface Listener {
  readonly process: SimulatedProcess
  readonly channel: string
  onNotice(payload: string): void
  /** Called when its connection breaks. */
  onBroken(): void
}

/** A committed change. */
export interface Commit {
  readonly from: string | undefined
  readonly changes: ReadonlyMap<Table<unknown>, ReadonlyMap<string, unknown>>
}

/** Removes an item that is in a short list at most once. */
function remove<Item>(items: Item[], item: Item): void {
  const index = items.indexOf(item)
  if (index !== -1) items.splice(index, 1)
}

/** An error of the store with its SQLSTATE. */
export const storeError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code })

/**
 * The metadata store: transactions with the isolation level READ COMMITTED, row locks, and advisory locks. Statements are
 * functions on a view of the tables.
 */
export class Store {
  readonly tables: Tables = createTables()
  readonly machine: Machine
  /** The probability that a statement from a machine fails, by the name of the machine. */
  readonly failing = new Map<string, number>()
  private readonly locks = new Map<string, Lock>()
  private readonly listeners = new Set<Listener>()
  private writers: StoreTransaction[] = []
  private open: StoreTransaction[] = []
  private lastNumber = 0
  private lastId = 0
  private lastTaken = 0
  /** Called after each commit. */
  onCommit: (commit: Commit) => void = () => undefined

  constructor(machine: Machine) {
    this.machine = machine
  }

  /** The clock of the store, in epoch milliseconds. */
  now(): number {
    return epochMs + this.machine.simulation.scheduler.nowMs
  }

  begin(from?: string): StoreTransaction {
    const transaction = new StoreTransaction(this.now(), from)
    transaction.idleSinceMs = this.now()
    this.open.push(transaction)
    return transaction
  }

  /** Ends everything in progress, as when the store is killed. Committed rows stay. */
  restart(): void {
    for (const transaction of this.open) transaction.isOver = transaction.isTerminated = true
    this.open = []
    this.writers = []
    this.locks.clear()
    for (const listener of [...this.listeners]) listener.onBroken()
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Runs a statement of a transaction. Returns a promise only if it has to wait for a lock. */
  run<Result>(
    transaction: StoreTransaction,
    statement: (view: StoreView) => Result,
  ): Result | Promise<Result> {
    this.assertOpen(transaction)
    const view = new StoreView(this, transaction)
    try {
      const result = statement(view)
      transaction.idleSinceMs = this.now()
      return result
    } catch (error) {
      view.undo()
      if (error instanceof LockWait) return this.runAfter(transaction, error.key, statement)
      transaction.idleSinceMs = this.now()
      throw error
    }
  }

  /** Runs a statement again once a lock is free. */
  private async runAfter<Result>(
    transaction: StoreTransaction,
    key: string,
    statement: (view: StoreView) => Result,
  ): Promise<Result> {
    transaction.idleSinceMs = undefined
    try {
      await this.waitFor(transaction, key)
    } finally {
      transaction.idleSinceMs = this.now()
    }
    return await this.run(transaction, statement)
  }

  /** Runs a statement in its own transaction. Returns a promise only if it has to wait for a lock. */
  runAlone<Result>(statement: (view: StoreView) => Result, from?: string): Result | Promise<Result> {
    const transaction = this.begin(from)
    const finish = (result: Result): Result => {
      this.commit(transaction)
      return result
    }
    const fail = (error: unknown): never => {
      this.rollBack(transaction)
      throw error
    }
    let result: Result | Promise<Result>
    try {
      result = this.run(transaction, statement)
    } catch (error) {
      return fail(error)
    }
    return result instanceof Promise ? result.then(finish).catch(fail) : finish(result)
  }

  commit(transaction: StoreTransaction): void {
    this.assertOpen(transaction)
    for (const [table, changes] of transaction.changes)
      for (const [key, row] of changes)
        if (row === undefined) table.rows.delete(key)
        else table.rows.set(key, row)
    this.end(transaction)
    if (transaction.changes.size > 0) this.onCommit(transaction)
    for (const { reportedAs } of transaction.changes.keys())
      if (reportedAs !== undefined) this.notify('svc_tables', reportedAs)
    for (const [channel, payloads] of transaction.notices ?? [])
      for (const payload of payloads) this.notify(channel, payload)
  }

  rollBack(transaction: StoreTransaction): void {
    if (!transaction.isOver) this.end(transaction)
  }

  /** Returns a new number for a row with a generated ID. */
  nextId(): number {
    this.lastId += 1
    return this.lastId
  }

  /** Returns the number of a transaction that writes. */
  numberOf(transaction: StoreTransaction): number {
    if (transaction.number === 0) {
      this.lastNumber += 1
      transaction.number = this.lastNumber
      this.writers.push(transaction)
    }
    return transaction.number
  }

  /** Returns the number of the oldest transaction that is in progress, or else of the next one. */
  oldestNumber(): number {
    return Math.min(this.lastNumber + 1, ...this.writers.map(({ number }) => number))
  }

  /** Takes a lock until the end of the transaction. */
  lock(transaction: StoreTransaction, key: string, mode: LockMode): void {
    let lock = this.locks.get(key)
    if (lock === undefined) {
      lock = { holders: [], waiting: [], takenAs: 0 }
      this.locks.set(key, lock)
    }
    const { holders } = lock
    for (const other of holders)
      if (other.transaction !== transaction && (mode === 'exclusive' || other.mode === 'exclusive'))
        throw new LockWait(key)
    const own = holders.find((holder) => holder.transaction === transaction)
    if (own !== undefined) {
      if (mode === 'exclusive') own.mode = mode
      return
    }
    if (holders.length === 0 && lock.waiting.length === 0) lock.takenAs = ++this.lastTaken
    holders.push({ transaction, mode })
    transaction.locks ??= []
    transaction.locks.push(lock)
  }

  private assertOpen(transaction: StoreTransaction): void {
    const { idleSinceMs } = transaction
    if (!transaction.isOver && idleSinceMs !== undefined && this.now() - idleSinceMs > idleTimeoutMs)
      this.terminate(transaction)
    if (transaction.isTerminated) throw storeError('57P01', 'terminating connection')
    if (transaction.isOver) throw storeError('25P01', 'there is no transaction in progress')
  }

  private terminate(transaction: StoreTransaction): void {
    transaction.isTerminated = true
    this.rollBack(transaction)
  }

  private end(transaction: StoreTransaction): void {
    transaction.isOver = true
    remove(this.open, transaction)
    remove(this.writers, transaction)
    const { locks } = transaction
    if (locks === undefined) return
    for (const { holders, waiting } of locks.sort((a, b) => a.takenAs - b.takenAs)) {
      holders.splice(
        holders.findIndex((holder) => holder.transaction === transaction),
        1,
      )
      for (const wake of waiting.splice(0)) wake()
    }
    transaction.locks = undefined
  }

  private async waitFor(transaction: StoreTransaction, key: string): Promise<void> {
    const lock = this.locks.get(key)
    if (lock === undefined || lock.holders.length === 0) return
    transaction.waitsFor = key
    this.assertNoDeadlock(transaction, key)
    const process = this.machine.process!
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    lock.waiting.push(resolve)
    const limit = process.later(lockTimeoutMs, () =>
      reject(storeError('55P03', 'canceling statement due to lock timeout')),
    )
    for (const holder of lock.holders) this.watchIdle(process, holder.transaction)
    try {
      await promise
      this.assertOpen(transaction)
    } finally {
      limit.cancel()
      transaction.waitsFor = undefined
    }
  }

  /** Terminates a transaction that others wait for once it has been idle for too long. */
  private watchIdle(process: SimulatedProcess, holder: StoreTransaction): void {
    const { idleSinceMs } = holder
    if (idleSinceMs === undefined) return
    process.later(idleSinceMs + idleTimeoutMs - this.now(), () => {
      if (holder.isOver) return
      if (holder.idleSinceMs === idleSinceMs) this.terminate(holder)
      else this.watchIdle(process, holder)
    })
  }

  private assertNoDeadlock(transaction: StoreTransaction, key: string): void {
    const seen = new Set([transaction])
    const holdersOf = (wanted: string) =>
      (this.locks.get(wanted)?.holders ?? []).map((holder) => holder.transaction)
    const leadsBack = (wanted: string): boolean =>
      holdersOf(wanted).some((holder) => {
        if (seen.has(holder)) return holder === transaction
        seen.add(holder)
        return holder.waitsFor !== undefined && leadsBack(holder.waitsFor)
      })
    const others = holdersOf(key).filter((holder) => holder !== transaction)
    if (others.some(({ waitsFor }) => waitsFor !== undefined && leadsBack(waitsFor)))
      throw storeError('40P01', 'deadlock detected')
  }

  private notify(channel: string, payload: string): void {
    for (const listener of this.listeners) if (listener.channel === channel) listener.onNotice(payload)
  }
}

/** What a statement sees: committed rows, and the changes of its own transaction. */
export class StoreView {
  readonly tables: Tables
  private readonly store: Store
  private readonly transaction: StoreTransaction
  private before: [Map<string, Change>, string, Change, boolean][] | undefined

  constructor(store: Store, transaction: StoreTransaction) {
    this.store = store
    this.transaction = transaction
    this.tables = store.tables
  }

  /** The clock of the store, in epoch milliseconds. */
  get now(): number {
    return this.store.now()
  }

  /** The clock of the store when the transaction started. */
  get startedAt(): number {
    return this.transaction.startedAt
  }

  get<Row>(table: Table<Row>, key: string): Row | undefined {
    const changes = this.transaction.changes.get(table as Table<unknown>)
    return changes?.has(key) ? (changes.get(key) as Row | undefined) : table.rows.get(key)
  }

  rows<Row>(table: Table<Row>): Row[] {
    const isChanged = this.transaction.changes.has(table as Table<unknown>)
    return isChanged ? this.entries(table).map(([, row]) => row) : [...table.rows.values()]
  }

  /** Returns the rows of a table with their keys. */
  entries<Row>(table: Table<Row>): [key: string, row: Row][] {
    const changes = this.transaction.changes.get(table as Table<unknown>)
    if (changes === undefined) return [...table.rows]
    const all = [...new Map<string, unknown>([...table.rows, ...changes])]
    return all.filter(([, row]) => row !== undefined) as [string, Row][]
  }

  /** Writes a row. The key stays locked until the transaction ends. */
  put<Row>(table: Table<Row>, key: string, row: Row): void {
    this.change(table, key, row)
  }

  /** Locks the key of a row before it is read again, as statements that insert or change it do. */
  claim<Row>(table: Table<Row>, key: string): Row | undefined {
    this.lock(`${table.name} ${key}`)
    return this.get(table, key)
  }

  remove<Row>(table: Table<Row>, key: string): void {
    this.change(table, key, undefined)
  }

  /** Removes the rows that match. */
  removeWhere<Row>(table: Table<Row>, matches: (row: Row) => boolean): void {
    for (const [key, row] of this.entries(table)) if (matches(row)) this.remove(table, key)
  }

  /** Takes a lock until the transaction ends. */
  lock(key: string, mode: LockMode = 'exclusive'): void {
    this.store.lock(this.transaction, key, mode)
  }

  share<Row>(table: Table<Row>, key: string): void {
    this.lock(`${table.name} ${key}`, 'share')
  }

  nextId(): number {
    return this.store.nextId()
  }

  /** The number of this transaction. */
  get number(): number {
    return this.store.numberOf(this.transaction)
  }

  oldestNumber(): number {
    return this.store.oldestNumber()
  }

  notify(channel: string, payload = ''): void {
    this.transaction.notices ??= new Map()
    const { notices } = this.transaction
    notices.set(channel, (notices.get(channel) ?? new Set()).add(payload))
  }

  /** Undoes the changes of this statement. */
  undo(): void {
    for (const [changes, key, row, wasChanged] of this.before?.reverse() ?? [])
      if (wasChanged) changes.set(key, row)
      else changes.delete(key)
  }

  private change<Row>(table: Table<Row>, key: string, row: Row | undefined): void {
    this.lock(`${table.name} ${key}`)
    const tableOf = table as Table<unknown>
    const { transaction } = this
    if (transaction.changes === noChanges) transaction.changes = new Map()
    let changes = transaction.changes.get(tableOf)
    if (changes === undefined) {
      changes = new Map()
      transaction.changes.set(tableOf, changes)
    }
    this.before ??= []
    this.before.push([changes, key, changes.get(key), changes.has(key)])
    changes.set(key, row)
  }
}
