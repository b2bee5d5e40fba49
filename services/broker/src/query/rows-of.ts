import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { QueryOrder, QuerySession } from '../query-processes/index.ts'

/** Runs an order and returns all its rows. */
export async function rowsOf(
  session: QuerySession,
  order: Omit<QueryOrder, 'style'>,
): Promise<Record<string, unknown>[]> {
  const answer = new PassThrough()
  const received = text(answer)
  const style = { format: 'object', header: false, typesHeader: false, sqlTypesHeader: false } as const
  await session.run({ ...order, style }, () => answer)
  answer.end()
  return JSON.parse(await received) as Record<string, unknown>[]
}
