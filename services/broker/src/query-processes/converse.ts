import { readFileSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { Failure, tooLarge } from '@svc/domain/failure'
import { startCpuMeter } from './cpu-meter.ts'
import { endCanceled } from './end-canceled.ts'
import type { QueryProcess } from './process-pool.ts'
import type { QueryCommand, QueryMessage } from './query-protocol.ts'

const guardMs = 100

/** The limits of a command, and where its result is written. */
export interface ConversationOptions {
  readonly signal: AbortSignal
  /** Max memory of the process. */
  readonly maxBytes: number
  /** Max CPU time of parsing; unlimited by default. */
  readonly maxParseCpuMs?: number
  /** Time that a canceled query has to end by itself before its process is killed, in milliseconds. */
  readonly maxCancelMs: number
  /** Is called before the first byte of the result. Returns the stream to write to. */
  readonly onBegin?: () => Writable
}

/** Sends a command and forwards the bytes of the result until the process reports how it ended. */
export async function converse(
  used: QueryProcess,
  command: QueryCommand,
  options: ConversationOptions,
): Promise<QueryMessage> {
  options.signal.throwIfAborted()
  return await new Conversation(used, options).answerTo(command)
}

class Conversation {
  private readonly used: QueryProcess
  private readonly options: ConversationOptions
  private readonly answer = Promise.withResolvers<QueryMessage>()
  private parseCpuMs: (() => number | undefined) | undefined
  private guard: NodeJS.Timeout | undefined
  private sink: Writable | undefined
  private bytes = 0
  private done: (QueryMessage & { kind: 'done' }) | undefined

  constructor(used: QueryProcess, options: ConversationOptions) {
    this.used = used
    this.options = options
    if (options.maxParseCpuMs === undefined) return
    // The start of the process does not count as parsing.
    void used.ready.then(() => {
      this.parseCpuMs = startCpuMeter(used.child.pid)
    })
  }

  answerTo(command: QueryCommand): Promise<QueryMessage> {
    const { child, answers } = this.used
    this.guard = setInterval(this.checkLimits, guardMs)
    child.on('message', this.onMessage)
    child.once('exit', this.onExit)
    answers.on('data', this.onData)
    answers.resume()
    this.options.signal.addEventListener('abort', this.onAbort, { once: true })
    child.send(command, (error) => {
      if (error) this.onExit()
    })
    return this.answer.promise
  }

  private finish(): void {
    const { child, answers } = this.used
    clearInterval(this.guard)
    child.off('message', this.onMessage)
    child.off('exit', this.onExit)
    answers.off('data', this.onData)
    answers.pause()
    this.sink?.off('drain', this.resume)
    this.options.signal.removeEventListener('abort', this.onAbort)
  }

  private fail(error: unknown): void {
    this.finish()
    this.answer.reject(error)
  }

  private succeed(message: QueryMessage): void {
    this.finish()
    this.answer.resolve(message)
  }

  private readonly resume = (): void => {
    this.used.answers.resume()
  }

  private readonly onData = (data: Buffer): void => {
    this.bytes += data.length
    try {
      if (this.sink === undefined) {
        this.sink = this.options.onBegin?.()
        this.sink?.on('drain', this.resume)
      }
      if (this.sink?.write(data) === false) this.used.answers.pause()
    } catch (error) {
      // The rest of the result must not reach another query.
      this.used.isUsable = false
      this.fail(error)
      return
    }
    this.succeedWhenComplete()
  }

  private readonly onMessage = (message: QueryMessage): void => {
    if (message.kind === 'ready') return
    if (message.kind === 'done') {
      this.done = message
      this.succeedWhenComplete()
    } else if (message.kind === 'failed') {
      // Bytes written before the failure may still arrive; another query must not get them.
      if (message.bytes > 0 || message.code === 'internalServerError') this.used.isUsable = false
      this.fail(new Failure(message.code, message.message, message.context))
    } else this.succeed(message)
  }

  // The message and the bytes use different channels and arrive in any order.
  private succeedWhenComplete(): void {
    if (this.done && this.bytes === this.done.bytes) this.succeed(this.done)
  }

  private readonly onExit = (): void => {
    this.fail(new Failure('internalServerError', 'The query process ended before the result was complete'))
  }

  // DuckDB enforces its own limit of memory. This guard catches memory that DuckDB does not count, such as one huge string, and texts
  // for which DuckDB's parser takes quadratic or cubic time, such as a long row of plus signs.
  private readonly checkLimits = (): void => {
    const { maxBytes, maxParseCpuMs } = this.options
    if (residentBytes(this.used.child.pid) > maxBytes)
      this.kill(tooLarge('The query needs more memory than [svc.query.memoryLimit] allows'))
    else if (maxParseCpuMs !== undefined && (this.parseCpuMs?.() ?? 0) > maxParseCpuMs)
      this.kill(
        tooLarge(
          `Parsing the query takes more than [${maxParseCpuMs}] ms of CPU time: expected a query with fewer operators, comments, and clauses`,
        ),
      )
  }

  private kill(failure: Failure): void {
    this.used.isUsable = false
    this.used.child.kill('SIGKILL')
    this.fail(failure)
  }

  private readonly onAbort = (): void => {
    this.fail(this.options.signal.reason)
    this.used.ending = endCanceled(this.used, this.bytes, this.done, this.options.maxCancelMs)
  }
}

const pageBytes = 4096

/** Returns the resident memory of a process in bytes; 0 if it has ended or the system has no /proc. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes
  } catch {
    return 0
  }
}
