import type { QueryProcess } from './process-pool.ts'
import type { QueryCommand, QueryMessage } from './query-protocol.ts'

/**
 * Cancels the query of a process. Resolves when the query has ended, and the rest of its result has been read, or when the process
 * has been killed because that took longer than `maxCancelMs`. `receivedBytes` of the result have been read before.
 */
export async function endCanceled(
  used: QueryProcess,
  receivedBytes: number,
  done: (QueryMessage & { kind: 'done' }) | undefined,
  maxCancelMs: number,
): Promise<void> {
  const { child, answers, ready } = used
  const { promise, resolve } = Promise.withResolvers<void>()
  let bytes = receivedBytes
  let expectedBytes = done?.bytes
  const onData = (data: Buffer): void => {
    bytes += data.length
    if (bytes === expectedBytes) resolve()
  }
  const onMessage = (message: QueryMessage): void => {
    if (message.kind === 'ready') return
    if (message.kind === 'failed' && message.code === 'internalServerError') used.isUsable = false
    expectedBytes = message.kind === 'read' ? bytes : message.bytes
    if (bytes === expectedBytes) resolve()
  }
  child.on('message', onMessage)
  child.once('exit', resolve)
  answers.on('data', onData)
  answers.resume()
  child.send({ kind: 'cancel' } satisfies QueryCommand, () => undefined)
  let timer: NodeJS.Timeout | undefined
  // A process that is starting reads its first command late.
  void ready.then(() => {
    timer = setTimeout(() => child.kill('SIGKILL'), maxCancelMs)
  })
  await promise
  clearTimeout(timer)
  child.off('message', onMessage)
  child.off('exit', resolve)
  answers.off('data', onData)
  answers.pause()
}
