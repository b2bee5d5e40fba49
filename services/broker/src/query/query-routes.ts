import { randomUUID } from 'node:crypto'
import { configLimitBytes, jsonBody, type Route, route, statedDatasource, streamed } from '@svc/shared/http'
import type { AnswerStyle } from '@svc/shared/query'
import { parseNativeQuery, runNativeQuery } from './native-query.ts'
import { type QueryEngine, runStatement, withinTime } from './run-statement.ts'
import { parseSqlRequest, timeoutOf } from './sql-request.ts'

const contentTypes: Readonly<Record<AnswerStyle['format'], string>> = {
  object: 'application/json',
  array: 'application/json',
  objectLines: 'text/plain; charset=utf-8',
  arrayLines: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
}

/** The endpoints of queries. */
export function queryRoutes(engine: QueryEngine): Route[] {
  const { settings } = engine.sources.context
  return [
    route({
      method: 'POST',
      path: '/svc/v2/sql',
      access: statedDatasource('READ', 'every table of the query'),
      summary: 'Answers a SELECT statement as a stream',
      body: jsonBody(parseSqlRequest, { limitBytes: configLimitBytes }),
      handle: async ({ body, caller, word, signal, response }) => {
        const { query, parameters, style, context } = body
        await withinTime(timeoutOf(context, settings), [signal, engine.ending], (given) =>
          runStatement(
            engine,
            {
              sql: query,
              schema: word,
              parameters,
              style,
              fromDeepStorage: context.fromDeepStorage,
              outerLimit: context.outerLimit,
              caller,
              signal: given,
            },
            (notLoaded) => {
              response.writeHead(200, {
                'Content-Type': contentTypes[style.format],
                'X-Svc-SQL-Query-Id': headerText(context.queryId ?? randomUUID()),
                ...(style.header ? { 'X-Svc-SQL-Header-Included': 'yes' } : {}),
                ...responseContext(notLoaded),
              })
              return response
            },
          ),
        )
        response.end()
        return streamed
      },
    }),
    route({
      method: 'POST',
      path: '/svc/v2',
      access: statedDatasource('READ', 'the datasource of the query'),
      summary: 'Answers a native query: timeBoundary, dataSourceMetadata or scan',
      body: jsonBody(parseNativeQuery, { limitBytes: configLimitBytes }),
      handle: async ({ body, caller, signal, response }) => {
        await withinTime(timeoutOf(body.context, settings), [signal, engine.ending], (given) =>
          runNativeQuery(engine, body, { caller, signal: given }, response, (notLoaded) => {
            response.writeHead(200, {
              'Content-Type': 'application/json',
              'X-Svc-Query-Id': headerText(body.context.queryId ?? randomUUID()),
              ...responseContext(notLoaded),
            })
          }),
        )
        response.end()
        return streamed
      },
    }),
  ]
}

/** What a header can hold. */
const headerText = (text: string): string => encodeURI(text)

/** Tells that used segments are not in the answer, because no server has loaded them. */
function responseContext(notLoaded: Readonly<Record<string, number>>): Record<string, string> {
  if (Object.keys(notLoaded).length === 0) return {}
  // JSON, with everything escaped that a header cannot hold.
  const text = JSON.stringify({ segmentsNotLoaded: notLoaded }).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return { 'X-Svc-Response-Context': text.slice(0, 4096) }
}
