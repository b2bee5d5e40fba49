import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { text } from 'node:stream/consumers'
import {
  type ClusterAccess,
  checkMissingPath,
  errorMessageOf,
  failedConnection,
  pathAt,
  rejectionOf,
} from '../client/index.ts'

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

/** Sends a query to the router; aborting `signal` cancels it. Throws a Failure with the reason if it is rejected. */
export async function querySql(
  access: ClusterAccess,
  question: SqlQuestion,
  signal: AbortSignal,
): Promise<SqlAnswer> {
  const { routerUrl, interfaceName, trusted, credentials } = access
  const requestedAt = performance.now()
  const url = new URL(pathAt(interfaceName, routerUrl, '/svc/v2/sql'), routerUrl)
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
    throw failedConnection(routerUrl, error)
  })
  const { statusCode: status = 0 } = answer
  if (status !== 200) {
    const message = messageOf(status, await text(answer))
    await checkMissingPath(access, status, message)
    throw rejectionOf(status, message, access)
  }
  return {
    requestedAt,
    body: answer,
    segmentsNotLoaded: notLoadedIn(answer.headers['x-svc-response-context']),
  }
}

function messageOf(status: number, body: string): string {
  try {
    return errorMessageOf({ status, body: JSON.parse(body) as unknown })
  } catch {
    // An answer that is not JSON comes from a proxy in between.
    return `status ${status}`
  }
}

function notLoadedIn(header: string | string[] | undefined): Readonly<Record<string, number>> {
  if (typeof header !== 'string') return {}
  try {
    return (JSON.parse(header) as { segmentsNotLoaded?: Record<string, number> }).segmentsNotLoaded ?? {}
  } catch {
    return {}
  }
}
