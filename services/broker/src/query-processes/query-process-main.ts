/**
 * The process that runs queries, one at a time. It has no access to the metadata store, to the network, or to files
 * other than those of the query. Whatever a query does to it, the broker continues to run.
 */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { Socket } from 'node:net'
import type { DuckDBConnection } from '@duckdb/node-api'
import { Failure } from '@svc/domain/failure'
import { QueryParser } from './query-parser.ts'
import { answerDescriptor, type QueryCommand, type QueryMessage, type QueryOrder } from './query-protocol.ts'
import { runQuery } from './run-query.ts'

const interruptPeriodMs = 10

const [spillDirectory = ''] = process.argv.slice(2)
const parser = new QueryParser(spillDirectory)
const answers = new Socket({ fd: answerDescriptor, readable: false, writable: true })
answers.on('error', () => process.exit(1))
let connection: DuckDBConnection | undefined
let isWorking = false
/** Interrupts the canceled query until it ends. */
let interrupting: NodeJS.Timeout | undefined
/** Number of bytes of the current result. */
let bytes = 0

const send = (message: QueryMessage): void => {
  process.send?.(message)
}

async function work(command: Exclude<QueryCommand, { kind: 'cancel' }>): Promise<QueryMessage> {
  if (command.kind === 'run') return await run(command.order)
  return { kind: 'read', statement: await parser.parse(command) }
}

async function run(order: QueryOrder): Promise<QueryMessage> {
  const rows = await runQuery(
    order,
    async (text) => {
      const data = Buffer.from(text)
      bytes += data.length
      if (!answers.write(data)) await once(answers, 'drain')
    },
    (opened) => {
      connection = opened
    },
  )
  return { kind: 'done', rows, bytes }
}

process.on('message', async (command: QueryCommand) => {
  if (command.kind === 'cancel') {
    // The query may have ended before the command arrived.
    if (!isWorking) return
    // Between two steps of a query, an interrupt has no effect.
    interrupting = setInterval(() => connection?.interrupt(), interruptPeriodMs)
    return
  }
  isWorking = true
  bytes = 0
  try {
    send(await work(command))
  } catch (error) {
    const failure = error instanceof Failure ? error : undefined
    send({
      kind: 'failed',
      code: failure?.code ?? 'internalServerError',
      message: failure?.message ?? `The query failed: ${(error as Error).message.slice(0, 200)}`,
      context: failure?.context ?? {},
      bytes,
    })
  } finally {
    isWorking = false
    connection = undefined
    clearInterval(interrupting)
  }
})

// Without its parent, nobody reads the output of this process.
process.once('disconnect', () => process.exit())

// Makes Linux kill this process first when memory is short.
await writeFile('/proc/self/oom_score_adj', '1000').catch(() => undefined)

// Load all code now, so that the first query does not wait for it.
await import('./result-writer.ts')
await parser.parse({ sql: 'SELECT 1', parameters: [], schema: 'svc' }).catch(() => undefined)
send({ kind: 'ready' })
flushCompileCache()
