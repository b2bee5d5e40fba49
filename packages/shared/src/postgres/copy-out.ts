import type { Readable } from 'node:stream'
import { to as copyTo } from 'pg-copy-streams'
import type { Transaction } from './database.ts'

// The longest time that a timer can wait for.
const longestTimeoutMs = 2 ** 31 - 1

/** The statement with all the time that it needs instead of the pool's timeout. */
export function withPatience<Copy extends object>(copy: Copy): Copy {
  return Object.assign(copy, { query_timeout: longestTimeoutMs })
}

/** Hands what a statement `COPY … TO STDOUT` gives, as text, to `take`; resolves when that does. */
export async function copyOut(
  transaction: Transaction,
  statement: string,
  take: (rows: Readable) => Promise<void>,
  { isPatient = false } = {},
): Promise<void> {
  const copy: ReturnType<typeof copyTo> & { callback?: () => void } = copyTo(statement)
  try {
    await take(transaction.client.query(isPatient ? withPatience(copy) : copy))
  } finally {
    // The driver sets a timer for every statement, which keeps all of it, and takes it away by this call, which this
    // kind of statement does not make.
    copy.callback?.()
  }
}
