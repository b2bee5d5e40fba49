import { Failure, unavailable } from '@svc/domain/failure'
import type * as real from '@svc/shared/postgres'
import { environmentOf, runningProcess } from '../../environment.ts'
import type { SimulatedProcess } from '../../kernel/index.ts'
import { type Store, type StoreTransaction, type StoreView, storeError } from './store.ts'

// As in the connections of the product, which try to connect twice.
const connectTimeoutMs = 10_000
const statementTimeoutMs = 65_000
const reconnectMs = 250

/** A statement of a stand-in. It takes the place of the SQL that the product sends. */
interface Operation {
  run(view: StoreView): unknown
}

/** Runs a statement of a stand-in in the store. */
export function statement<Result>(queries: real.Queries, run: (view: StoreView) => Result): Promise<Result> {
  const operation: Operation = { run }
  return queries.query(operation as never) as Promise<unknown> as Promise<Result>
}

function operationOf(given: unknown): Operation {
  if (typeof given === 'object' && given !== null && 'run' in given) return given as Operation
  const { text } = given as { readonly text?: string }
  throw new Error(`The simulation has no stand-in for this statement: ${text?.replace(/\s+/g, ' ')}`)
}

/** Opens a database of the running process in the simulated store. */
export const createDatabase: typeof real.createDatabase = (_settings, { connections }) => {
  const process = runningProcess()
  const pool = createPool(process, connections)
  const listeners = new Set<real.Listener>()
  return {
    query: async (given) => {
      const { run } = operationOf(given)
      if (!pool.take()) await pool.wait()
      try {
        return (await callStore(process, statementTimeoutMs, (store) =>
          store.runAlone(run, process.machine.name),
        )) as never
      } finally {
        pool.release()
      }
    },
    transaction: async (run) => {
      if (!pool.take()) await pool.wait()
      try {
        return await runTransaction(process, run)
      } finally {
        pool.release()
      }
    },
    listen: async (channel, onNotice) => {
      const listener = await keepListening(process, channel, onNotice)
      listeners.add(listener)
      return {
        catchUp: listener.catchUp,
        close: async () => {
          listeners.delete(listener)
          await listener.close()
        },
      }
    },
    close: async () => {
      await Promise.all([...listeners].map((listener) => listener.close()))
    },
  }
}

/** Limits the number of statements and transactions in progress. */
function createPool(process: SimulatedProcess, connections: number) {
  let free = connections
  const waiting: (() => void)[] = []
  const take = (): boolean => {
    if (free === 0) return false
    free -= 1
    return true
  }
  return {
    /** Takes a connection. Returns false if there is none. */
    take,
    /** Waits for a connection, and takes it. */
    wait: async (): Promise<void> => {
      while (!take()) {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        waiting.push(resolve)
        const limit = process.later(connectTimeoutMs, () => {
          waiting.splice(waiting.indexOf(resolve), 1)
          reject(unavailable('The metadata store is unavailable', {}, new Error('timeout exceeded')))
        })
        await promise
        limit.cancel()
      }
    },
    release: (): void => {
      free += 1
      waiting.shift()?.()
    },
  }
}

/** Calls the store. Throws an unavailable Failure if it cannot be reached, or if a fault makes the statement fail. */
async function callStore<Result>(
  from: SimulatedProcess,
  stuckTimeoutMs: number,
  work: (store: Store) => Result | Promise<Result>,
): Promise<Result> {
  const { network, store } = environmentOf(from)
  const { name, random } = from.machine
  const serve = (): Result | Promise<Result> => {
    const failure = store.failing.get(name)
    return failure !== undefined && random.isTrue(failure) ? fail(random.isTrue(0.5)) : work(store)
  }
  const fail = async (isDone: boolean): Promise<never> => {
    if (isDone) await work(store)
    throw storeError('57P01', isDone ? 'simulated loss of the answer' : 'simulated failure')
  }
  try {
    return await network.call({ from, to: store.machine, serve, stuckTimeoutMs })
  } catch (error) {
    throw failureOf(error)
  }
}

function failureOf(error: unknown): unknown {
  const { code = '' } = error as { readonly code?: string }
  if (error instanceof Failure || !/^(E[A-Z]|08|57|53)/.test(code)) return error
  return unavailable('The metadata store is unavailable', {}, error)
}

async function runTransaction<Result>(
  process: SimulatedProcess,
  run: (transaction: real.Transaction) => Promise<Result>,
): Promise<Result> {
  const call = <Answer>(work: (store: Store) => Answer | Promise<Answer>): Promise<Answer> =>
    callStore(process, statementTimeoutMs, work)
  const begun = await callStore(process, connectTimeoutMs, (store) => store.begin(process.machine.name))
  const disconnect = (): void => endConnection(process, begun)
  const stop = process.onKill(disconnect)
  const transaction = {
    query: async (given: unknown) => {
      const { run: operation } = operationOf(given)
      return await call((store) => store.run(begun, operation))
    },
  } as unknown as real.Transaction
  try {
    const result = await run(transaction)
    await call((store) => store.commit(begun))
    return result
  } catch (error) {
    await call((store) => store.rollBack(begun)).catch(disconnect)
    throw error
  } finally {
    stop()
  }
}

/** Lets the store notice that the connection of a transaction is closed. */
function endConnection(process: SimulatedProcess, transaction: StoreTransaction): void {
  const { network, store } = environmentOf(process)
  const ignore = (): void => undefined
  network.send(process.machine, store.machine, {
    arrive: () => store.machine.process?.later(0, () => store.rollBack(transaction)),
    owner: undefined,
    broken: ignore,
    stuck: ignore,
    mayRepeat: false,
  })
}

/** Listens for notifications. Whenever the connection breaks, connects again and notifies the listener. */
async function keepListening(
  process: SimulatedProcess,
  channel: string,
  onNotice: (payload: string | undefined) => void,
): Promise<real.Listener> {
  const { network, store } = environmentOf(process)
  let isStopped = false
  let unregister: () => void = () => undefined
  const connect = async (): Promise<void> => {
    unregister = await callStore(process, connectTimeoutMs, () =>
      store.listen({ process, channel, onNotice: deliver, onBroken: reconnect }),
    )
  }
  let isReconnecting = false
  const tryAgain = (): void => {
    process.later(reconnectMs, () => {
      if (isStopped) return
      connect().then(() => {
        isReconnecting = false
        onNotice(undefined)
      }, tryAgain)
    })
  }
  // Several messages may show that the connection is broken.
  const reconnect = (): void => {
    if (isReconnecting || isStopped) return
    isReconnecting = true
    unregister()
    tryAgain()
  }
  const deliver = (payload: string): void =>
    network.send(store.machine, process.machine, {
      arrive: () => onNotice(payload),
      owner: process,
      broken: reconnect,
      stuck: () => undefined,
      mayRepeat: false,
    })
  process.onKill(() => unregister())
  await connect()
  return {
    // Notifications arrive in any order with responses, so none is known to have arrived.
    catchUp: async () => onNotice(undefined),
    close: async () => {
      isStopped = true
      unregister()
    },
  }
}
