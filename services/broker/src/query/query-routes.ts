import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Failure, type FailureCode, notFound } from '@svc/domain/failure'
import {
  type Answer,
  jsonAnswer,
  jsonBody,
  Reply,
  type Route,
  route,
  statedDatasource,
  streamed,
} from '@svc/shared/http'
import type { Caller } from '@svc/shared/security'
import * as z from 'zod'
import type { AnswerStyle } from '../query-processes/index.ts'
import { readNativeQuery, runNativeQuery } from './native-query.ts'
import { responseContext } from './response-context.ts'
import { type CallerQuery, type QueryEngine, runStatement, withinTime } from './run-statement.ts'
import { type RunningQueries, whileCancellable } from './running-queries.ts'
import { readSqlRequest, timeoutOf } from './sql-request.ts'

const contentTypes: Readonly<Record<AnswerStyle['format'], string>> = {
  object: 'application/json',
  array: 'application/json',
  objectLines: 'text/plain; charset=utf-8',
  arrayLines: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
}

/** Running queries, which can be canceled. SQL and native queries have separate ids. */
export interface CancellableQueries {
  readonly sql: RunningQueries
  readonly native: RunningQueries
}

const readOfQuery = statedDatasource('READ', 'every datasource in the query')

const sqlAnswer: Answer = {
  status: 200,
  description: 'Rows in the requested `resultFormat`: a JSON list of objects or lists, JSON lines, or CSV',
  content: {
    'application/json': z.array(z.union([z.looseObject({}), z.array(z.unknown())])),
    'text/plain': z.string(),
    'text/csv': z.string(),
  },
}
const scanBatchShape = z
  .object({
    segmentId: z.string(),
    columns: z.array(z.string()),
    events: z.array(z.union([z.looseObject({}), z.array(z.unknown())])),
    rowSignature: z.array(z.object({ name: z.string(), type: z.string().nullable() })),
  })
  .meta({
    title: 'ScanBatch',
    description: 'Events are objects or lists, depending on the `resultFormat` of the query',
  })
const timeResultShape = z
  .object({ timestamp: z.string(), result: z.record(z.string(), z.string()) })
  .meta({ title: 'TimeResult', description: 'Result of a timeBoundary or dataSourceMetadata query' })
const queryFailures: readonly FailureCode[] = ['conflict', 'busy', 'cancelled', 'timedOut']

/** A request with a query. */
interface QueryRequest {
  readonly id: string
  readonly timeoutMs: number
  readonly caller: Caller
  readonly signal: AbortSignal
  readonly response: ServerResponse
}

const retryAfterSeconds = 1

/** The endpoints that run and cancel queries. */
export function queryRoutes(engine: QueryEngine, running: CancellableQueries): Route[] {
  return [sqlRoute(engine, running.sql), nativeRoute(engine, running.native), ...cancelRoutes(running)]
}

/** Runs a query that can be canceled by its id. `run` writes the result. */
async function answerQuery(
  engine: QueryEngine,
  queries: RunningQueries,
  { id, timeoutMs, caller, signal, response }: QueryRequest,
  run: (given: Pick<CallerQuery, 'caller' | 'signal' | 'onRead'>) => Promise<void>,
): Promise<typeof streamed> {
  try {
    await whileCancellable(queries, id, caller, ({ signal: cancelling, onRead }) =>
      withinTime(timeoutMs, [signal, engine.ending, cancelling], (any) =>
        run({ caller, signal: any, onRead }),
      ),
    )
  } catch (error) {
    if (error instanceof Failure && error.code === 'busy' && !response.headersSent)
      response.setHeader('Retry-After', retryAfterSeconds)
    throw error
  }
  response.end()
  return streamed
}

const sqlRoute = (engine: QueryEngine, queries: RunningQueries): Route =>
  route({
    method: 'POST',
    path: '/svc/v2/sql',
    access: statedDatasource('READ', 'every table in the query'),
    summary: 'Run a SELECT statement and stream the result',
    body: jsonBody(readSqlRequest),
    answers: [sqlAnswer],
    failures: queryFailures,
    handle: ({ body, caller, word, signal, response }) => {
      const { query, parameters, style, context } = body
      const id = context.queryId ?? randomUUID()
      const timeoutMs = timeoutOf(context, engine.sources.context.settings)
      return answerQuery(engine, queries, { id, timeoutMs, caller, signal, response }, (given) =>
        runStatement(
          engine,
          {
            sql: query,
            schema: word,
            parameters,
            style,
            fromDeepStorage: context.fromDeepStorage,
            outerLimit: context.outerLimit,
            ...given,
          },
          (notLoaded) => {
            response.writeHead(200, {
              'Content-Type': contentTypes[style.format],
              'X-Svc-SQL-Query-Id': headerText(id),
              ...(style.header ? { 'X-Svc-SQL-Header-Included': 'yes' } : {}),
              ...responseContext(notLoaded),
            })
            return response
          },
        ),
      )
    },
  })

const nativeRoute = (engine: QueryEngine, queries: RunningQueries): Route =>
  route({
    method: 'POST',
    path: '/svc/v2',
    access: statedDatasource('READ', 'the datasource in the query'),
    summary: 'Run a native query: timeBoundary, dataSourceMetadata, or scan',
    body: jsonBody(readNativeQuery),
    answers: [jsonAnswer(z.array(z.union([scanBatchShape, timeResultShape])))],
    failures: queryFailures,
    handle: ({ body, caller, signal, response }) => {
      const id = body.context.queryId ?? randomUUID()
      const timeoutMs = timeoutOf(body.context, engine.sources.context.settings)
      return answerQuery(engine, queries, { id, timeoutMs, caller, signal, response }, (given) =>
        runNativeQuery(engine, body, given, response, (notLoaded) => {
          response.writeHead(200, {
            'Content-Type': 'application/json',
            'X-Svc-Query-Id': headerText(id),
            ...responseContext(notLoaded),
          })
        }),
      )
    },
  })

const cancelRoutes = ({ sql, native }: CancellableQueries): Route[] => [
  route({
    method: 'DELETE',
    path: '/svc/v2/sql/:queryId',
    access: readOfQuery,
    summary: 'Cancel running SQL queries by ID',
    answers: [cancelling],
    handle: async ({ params: { queryId = '' }, caller }) => {
      if ((await sql.cancel(queryId, caller)) === 0)
        throw notFound(`SQL query [${queryId}] is not running`, { queryId })
      return accepted
    },
  }),
  route({
    method: 'DELETE',
    path: '/svc/v2/:queryId',
    access: readOfQuery,
    summary: 'Cancel running native queries by ID; succeeds even if no such query is running',
    answers: [cancelling],
    handle: async ({ params: { queryId = '' }, caller }) => {
      await native.cancel(queryId, caller)
      return accepted
    },
  }),
]

const accepted = new Reply(202)
const cancelling: Answer = {
  status: 202,
  description: 'The queries are being canceled; the body is empty',
  content: {},
}

/** Encodes a text for a header. */
const headerText = (text: string): string => encodeURI(text)
