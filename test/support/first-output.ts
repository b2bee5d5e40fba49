import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** The first output of a process. Throws an error if it ends without any, for which an event would never come. */
export async function firstOutput(child: ChildProcess): Promise<string> {
  const ended = new AbortController()
  const exit = once(child, 'close', { signal: ended.signal }).then(([status, signal]) => {
    throw new Error(`The process ended with [${status ?? signal}] and without output`)
  })
  try {
    return String(await Promise.race([once(child.stdout!, 'data').then(([data]) => data), exit]))
  } finally {
    exit.catch(() => undefined)
    ended.abort()
  }
}
