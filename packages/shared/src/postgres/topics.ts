import { type Queries, sql } from './database.ts'

/** The channel of notices about everything that has no channel of its own. */
export const topicsChannel = 'svc_topics'

/** What such a notice can be about: a new audit entry, which the store reports itself, or a request or TLS handshake that a server refused. */
export const topics = ['audit', 'refusals'] as const
export type Topic = (typeof topics)[number]

/** Notifies all listeners that something happened. */
export async function notifyOfTopic(queries: Queries, topic: Topic): Promise<void> {
  await queries.query(sql`SELECT pg_notify(${topicsChannel}, ${topic})`)
}
