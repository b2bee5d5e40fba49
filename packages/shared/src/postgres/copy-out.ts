import type { Readable } from 'node:stream'
import { to as copyTo } from 'pg-copy-streams'
import type { Transaction } from './database.ts'

// The maximum delay of a timer.
const maxTimeoutMs = 2 ** 31 - 1

/** Returns the statement without the pool's query timeout. */
export function withoutTimeout<Copy extends object>(copy: Copy): Copy {
  return Object.assign(copy, { query_timeout: maxTimeoutMs })
}

/** Passes the text output of a `COPY … TO STDOUT` statement to `take`; resolves when that does. */
export async function copyOut(
  transaction: Transaction,
  statement: string,
  take: (rows: Readable) => Promise<void>,
  { hasNoTimeout = false } = {},
): Promise<void> {
  const copy: ReturnType<typeof copyTo> & { callback?: () => void } = copyTo(statement)
  try {
    await take(transaction.client.query(hasNoTimeout ? withoutTimeout(copy) : copy))
  } finally {
    // The driver sets a timer for every statement, which retains its memory. This call clears the timer; statements of
    // this kind do not make it themselves.
    copy.callback?.()
  }
}
