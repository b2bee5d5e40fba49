import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { text } from 'node:stream/consumers'
import { conflict, unavailable } from '@svc/domain/failure'
import { type ClusterAccess, describeConnectionError } from '../client/index.ts'

/** A query and the format of its answer. */
export interface SqlQuestion {
  readonly query: string
  readonly resultFormat: 'object' | 'arrayLines' | 'csv'
  readonly header: boolean
  readonly timeoutMs?: number | undefined
  readonly fromDeepStorage: boolean
}

/** A streamed answer. */
export interface SqlAnswer {
  /** When the query was sent, as a value of performance.now(). */
  readonly requestedAt: number
  readonly body: IncomingMessage
  /** Number of used segments by datasource that are missing from the answer because no server has loaded them. */
  readonly segmentsNotLoaded: Readonly<Record<string, number>>
}

/** Sends a query to the router; aborting `signal` cancels it. A rejected query is a conflict with the reason. */
export async function querySql(
  { routerUrl, trusted, credentials }: ClusterAccess,
  question: SqlQuestion,
  signal: AbortSignal,
): Promise<SqlAnswer> {
  const requestedAt = performance.now()
  const url = new URL('/svc/v2/sql', routerUrl)
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const body = Buffer.from(
    JSON.stringify({
      query: question.query,
      resultFormat: question.resultFormat,
      header: question.header,
      context: {
        fromDeepStorage: question.fromDeepStorage,
        ...(question.timeoutMs === undefined ? {} : { timeout: question.timeoutMs }),
      },
    }),
  )
  const options: RequestOptions & { ca?: string } = {
    method: 'POST',
    agent: false,
    signal,
    headers: {
      'content-type': 'application/json',
      'content-length': body.length,
      ...(credentials === undefined
        ? {}
        : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
    ...(trusted === undefined ? {} : { ca: trusted }),
  }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing: ClientRequest = request(url, options, resolve)
    outgoing.once('error', reject)
    outgoing.end(body)
  }).catch((error: unknown) => {
    signal.throwIfAborted()
    throw unavailable(`Failed to reach the router at [${routerUrl}]: ${describeConnectionError(error)}`)
  })
  if (answer.statusCode !== 200) throw rejection(answer.statusCode ?? 0, await text(answer))
  return {
    requestedAt,
    body: answer,
    segmentsNotLoaded: notLoadedIn(answer.headers['x-svc-response-context']),
  }
}

function rejection(status: number, body: string) {
  let message = `status ${status}`
  try {
    message = String((JSON.parse(body) as { errorMessage?: unknown }).errorMessage ?? message)
  } catch {
    // An answer that is not JSON comes from a proxy in between.
  }
  return status < 500 ? conflict(message) : unavailable(message)
}

function notLoadedIn(header: string | string[] | undefined): Readonly<Record<string, number>> {
  if (typeof header !== 'string') return {}
  try {
    return (JSON.parse(header) as { segmentsNotLoaded?: Record<string, number> }).segmentsNotLoaded ?? {}
  } catch {
    return {}
  }
}
