import type { Answer, HttpClient } from '@svc/shared/testing'

/** Options of a query, in addition to its text. */
export interface SqlOptions {
  readonly resultFormat?: string
  readonly header?: boolean
  readonly parameters?: readonly object[]
  readonly context?: object
  /** `name:password`, instead of the client's own. */
  readonly credentials?: string
}

/** Sends a query and returns the answer. */
export async function querySql(client: HttpClient, query: string, options: SqlOptions = {}): Promise<Answer> {
  const { credentials, ...more } = options
  return await client.send({
    method: 'POST',
    path: '/svc/v2/sql',
    json: { query, ...more },
    ...(credentials === undefined ? {} : { credentials }),
  })
}

/** Returns the rows of a query as lists. Throws if the status is not 200. */
export async function sqlRows(
  client: HttpClient,
  query: string,
  options: SqlOptions = {},
): Promise<unknown[][]> {
  const answer = await querySql(client, query, { ...options, resultFormat: 'array' })
  if (answer.status !== 200) throw new Error(`${query}: ${answer.status} ${answer.text}`)
  return answer.json as unknown[][]
}
