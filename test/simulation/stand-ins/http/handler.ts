import { Readable } from 'node:stream'
import { describeError, Failure, invalidInput, notFound } from '@svc/domain/failure'
import { readListingProblems } from '@svc/domain/validation'
import {
  errorBody,
  JsonPieces,
  Reply,
  type Route,
  type RouteInput,
  statusOf,
  streamed,
} from '@svc/shared/http'
import type { Caller, Security } from '@svc/shared/security'
import type { ServicePart } from '@svc/shared/service'
import type { Exchange } from '../../kernel/index.ts'
import { type HttpAnswer, type HttpRequest, SimulatedResponse } from './messages.ts'

/** Answers the requests of a server. */
export type Handler = (request: HttpRequest, exchange: Exchange) => Promise<HttpAnswer>

/** What the requests of a server need. */
interface Served extends Pick<ServicePart, 'routes' | 'fallback'> {
  readonly security: Security
  onUnexpected(request: HttpRequest, error: unknown): void
  /** Called with what a route returned. */
  onAnswered(exchange: Exchange, path: string, body: unknown, result: unknown): void
}

interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** Creates the handler of a server: finds the route, reads query and body with its readers, and sends what it returns. */
export function createHandler({ routes, fallback, security, onUnexpected, onAnswered }: Served): Handler {
  const find = routeFinder(routes)
  return async (request, exchange) => {
    const response = new SimulatedResponse()
    exchange.onClose = () => response.destroy()
    try {
      const caller = await authenticate(security)
      const [path = '', query = ''] = request.path.split('?', 2)
      const match = find(request.method, path)
      if (match !== undefined) {
        const { path: routePath } = match.route
        await answer(match, query, request, response, caller, security, (body, result) =>
          onAnswered(exchange, routePath, body, result),
        )
      } else if (fallback) await fallback(forwardable(request, response), response as never, caller)
      else throw notFound(`Path [${path}] does not exist`)
    } catch (error) {
      if (!(error instanceof Failure)) onUnexpected(request, error)
      answerError(response, error)
    }
    return await response.complete
  }
}

async function authenticate(security: Security): Promise<Caller> {
  const result = await security.authenticate(undefined, {
    address: '127.0.0.1',
    server: '',
    leaving: () => new AbortController().signal,
  })
  if (result.kind !== 'known') throw new Error('A simulated cluster needs no logins')
  return result.caller
}

/** Returns a function that finds the route of a request. Literal paths come first. */
function routeFinder(routes: readonly Route[]): (method: string, path: string) => Match | undefined {
  const literal = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]))
  const patterns = routes
    .filter(({ path }) => path.includes(':'))
    .map((route) => ({ route, parts: route.path.split('/') }))
  return (method, path) => {
    const route = literal.get(`${method} ${path}`)
    if (route !== undefined) return { route, params: {} }
    const parts = path.split('/')
    for (const { route: candidate, parts: pattern } of patterns) {
      if (candidate.method !== method || pattern.length !== parts.length) continue
      if (!pattern.every((part, index) => part.startsWith(':') || part === parts[index])) continue
      const named = pattern.flatMap((part, index) =>
        part.startsWith(':') ? [[part.slice(1), decodeURIComponent(parts[index]!)] as const] : [],
      )
      return { route: candidate, params: Object.fromEntries(named) }
    }
    return undefined
  }
}

async function answer(
  { route, params }: Match,
  queryText: string,
  request: HttpRequest,
  response: SimulatedResponse,
  caller: Caller,
  security: Security,
  onAnswered: (body: unknown, result: unknown) => void,
): Promise<void> {
  const given = queryText === '' ? {} : Object.fromEntries(new URLSearchParams(queryText))
  const query = route.query ? readListingProblems(route.query, given) : given
  const body = route.body && readBody(route.body, request.body)
  const input = new Input(params, query, body, request, response, caller, security.isInternal(caller))
  const result = await route.handle(input as unknown as RouteInput<never, never>)
  onAnswered(input.body, result)
  if (result === streamed) return
  if (result instanceof JsonPieces) response.end((await Array.fromAsync(result.pieces)).join(''))
  else sendReply(response, result instanceof Reply ? result : new Reply(200, result))
}

/** What a route gets. A class, because creating an object with a getter takes longer than most routes. */
class Input {
  readonly params: Match['params']
  readonly query: unknown
  readonly body: unknown
  readonly caller: Caller
  readonly word = 'svc'
  readonly isInternal: boolean
  readonly audit: object
  readonly request: object
  readonly response: SimulatedResponse
  private leaving: AbortController | undefined

  constructor(
    params: Match['params'],
    query: unknown,
    body: unknown,
    { headers, path, method }: HttpRequest,
    response: SimulatedResponse,
    caller: Caller,
    isInternal: boolean,
  ) {
    this.params = params
    this.query = query
    this.body = body
    this.caller = caller
    this.isInternal = isInternal
    this.audit = {
      author: headers['x-svc-author'] ?? '',
      comment: headers['x-svc-comment'] ?? '',
      identity: caller.identity,
      ip: '127.0.0.1',
    }
    this.request = { headers, url: path, method, socket: {} }
    this.response = response
  }

  get signal(): AbortSignal {
    this.leaving ??= signalOf(this.response)
    return this.leaving.signal
  }
}

/** Returns a controller whose signal is aborted if the caller leaves before the response is complete. */
function signalOf(response: SimulatedResponse): AbortController {
  const controller = new AbortController()
  if (response.destroyed) controller.abort()
  response.once('close', () => {
    if (!response.writableFinished) controller.abort()
  })
  return controller
}

function readBody({ read, optional }: NonNullable<Route['body']>, body: Buffer | undefined): unknown {
  if (body === undefined && !optional) throw invalidInput('The request has no body; expected a JSON document')
  return readListingProblems(read, body === undefined ? undefined : JSON.parse(body.toString()))
}

function sendReply(response: SimulatedResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, headers)
  if (body === undefined) response.end()
  else if (typeof body === 'string' && headers['Content-Type'] !== undefined) response.end(body)
  else response.end(JSON.stringify(body))
}

function answerError(response: SimulatedResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const failure =
    error instanceof Failure
      ? error
      : new Failure('internalServerError', `Internal error: ${describeError(error)}`)
  response.writeHead(statusOf[failure.code]).end(JSON.stringify(errorBody(failure)))
}

/** Returns a request in the form in which the router forwards it. */
function forwardable({ method, path, headers, body }: HttpRequest, response: SimulatedResponse) {
  const length = body === undefined ? {} : { 'content-length': String(body.length) }
  const all: Record<string, string> = { ...headers, ...length }
  return Object.assign(Readable.from(body === undefined ? [] : [body], { objectMode: false }), {
    method,
    url: path,
    originalUrl: path,
    complete: true,
    headers: all,
    rawHeaders: Object.entries(all).flat(),
    socket: { remoteAddress: '127.0.0.1', destroy: () => response.destroy() },
  }) as never
}
