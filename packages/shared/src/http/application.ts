import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { type LoginFailure, missingPermission, type RefusedRequest } from '@svc/domain/access'
import {
  describeError,
  Failure,
  forbidden,
  invalidInput,
  methodNotAllowed,
  notFound,
  unauthorized,
  unsupportedMediaType,
} from '@svc/domain/failure'
import {
  cutText,
  escapeControlCharacters,
  maxAuditTextLength,
  readDatasourceName,
  readListingProblems,
  readRulesName,
} from '@svc/domain/validation'
import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import type { Metrics } from '../metrics/index.ts'
import { stackOf } from '../runtime/index.ts'
import { assertAccess, type Caller, notVerified, readBasicHeader, type Security } from '../security/index.ts'
import { createTurns, type NextTurn } from '../slices/index.ts'
import { withExactLimits } from '../wire/index.ts'
import { createAliases, errorInAlias, nameHeadersInAlias } from './aliases.ts'
import type { Call } from './call.ts'
import { checkTexts } from './check-texts.ts'
import { peerAddress, peerSubject } from './client-certificates.ts'
import { noteLogin } from './connection-limits.ts'
import { errorBody, statusOf } from './error-body.ts'
import { JsonPieces, sendPieces } from './json-pieces.ts'
import { type Budgets, budgetsOf, createBudgets, readJsonBody, type Sender } from './read-json-body.ts'
import { hasBody } from './receive-body.ts'
import { type AuditInfo, Reply, type Route, type RouteInput, streamed } from './route-definition.ts'

/** The log of an application. */
export interface RequestLog {
  info(message: string, details?: object): void
  warn(message: string, details?: object): void
  debug(message: string, details?: object): void
  error(message: string, details?: object): void
}

/** How calls between servers are recorded. */
export interface NotedCalls {
  readonly journal: { add(call: Call): void }
  /** Role and name of this server. */
  name(): string
  /** The internal user; empty if the cluster requires no login. */
  user(): string
}

export interface ApplicationOptions {
  readonly routes: readonly Route[]
  readonly security: Security
  readonly log: RequestLog
  readonly metrics: Pick<Metrics, 'count'>
  /** Records calls between servers. */
  readonly calls?: NotedCalls
  /** Alternative path prefixes of the API next to `svc`. */
  readonly aliases?: readonly string[]
  /** Handles requests that match no route: the router's proxy. The caller is authenticated. */
  readonly fallback?: (request: Request, response: Response, caller: Caller) => Promise<void>
  /** Serves the files of a page, which need no login. Returns whether the request was for one of them. */
  readonly servePage?: (request: Request, response: Response) => Promise<boolean>
  /** Returns the address of the caller for a request that a router forwarded; undefined for other requests. */
  readonly callerAddress?: (request: IncomingMessage) => string | undefined
  /** Called for requests that were rejected because of a missing permission. */
  readonly onForbidden?: ((refusal: Forbidden) => void) | undefined
  /** Called for requests that were refused because of their login or a missing permission. */
  readonly onRefused?: ((refusal: RefusedRequest) => void) | undefined
  /** Fault injection: delays requests, and closes the connection if it returns `cut`. */
  readonly applyFaults?: (path: string) => Promise<'cut' | undefined>
}

/** A request that was rejected because of a missing permission. */
export interface Forbidden {
  readonly identity: string
  readonly address: string
  readonly method: string
  readonly path: string
  readonly message: string
  readonly requestId: string
}

/**
 * Creates the Express application of a server. It checks requests in the same order as Druid 37: login (401), path
 * (404), method (405), content type (415), permission (403), and then the body and the query (400, 413).
 */
export function createApplication({
  routes,
  security,
  log,
  metrics,
  calls,
  aliases: words = [],
  fallback,
  servePage,
  callerAddress = () => undefined,
  onForbidden,
  onRefused,
  applyFaults,
}: ApplicationOptions): Express {
  const aliases = createAliases(words)
  beginCounting(metrics)
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.use((request, response, next) => {
    const id = request.headers['x-request-id']
    response.locals.requestId = typeof id === 'string' && /^[\w-]{1,64}$/.test(id) ? id : randomUUID()
    response.setHeader('X-Request-Id', response.locals.requestId)
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Cache-Control', 'no-store')
    // Before an alias is translated, because the signed address refers to the original request.
    response.locals.address = callerAddress(request) ?? peerAddress(request.socket)
    logWhenOver(request, response, log, metrics)
    if (calls) noteWhenOver(request, response, calls)
    const alias = aliases.translate(request)
    response.locals.alias = alias
    if (alias !== undefined) nameHeadersInAlias(response, alias)
    next()
  })
  app.use((request, response, next) => {
    assertUnambiguous(request, response)
    next()
  })
  if (applyFaults) {
    app.use(async (request, _response, next) => {
      if ((await applyFaults(request.path)) === 'cut') request.socket.destroy()
      else next()
    })
  }
  if (servePage) {
    app.use(async (request, response, next) => {
      if (!(await servePage(request, response))) next()
    })
  }
  const budgets = createBudgets()
  const nextTurn = createTurns()
  const handlers = [...byPath(routes)].map(
    ([path, methods]) => [path, dispatch(methods, security, budgets, nextTurn)] as const,
  )
  // Most paths have no parameters, and a lookup is faster than matching all routes.
  const literal = new Map(handlers.filter(([path]) => !/[:*]/.test(path)))
  app.use((request, response, next) => (literal.get(request.path) ?? skip)(request, response, next))
  // One layer per path: `app.all` creates one for each of 35 methods, with its own regular expression.
  for (const [path, handle] of handlers) app.route(path).all(handle)
  app.use(async (request, response) => {
    const caller = await authenticate(request, response, security)
    if (!fallback) throw notFound(`Path [${request.path}] does not exist`)
    await fallback(request, response, caller)
  })
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) =>
    answerError(error, request, response, log, { onForbidden, onRefused }),
  )
  return app
}

/** Rejects requests that a proxy in between might interpret differently, and closes their connection. */
function assertUnambiguous(request: Request, response: Response): void {
  const problem = ambiguityOf(request)
  if (problem === undefined) return
  response.setHeader('Connection', 'close')
  throw invalidInput(problem)
}

// RFC 3986 3.2.2: the characters of a host, and of a port.
const hostPattern = /^[\w.~!$&'()*+,;=%:[\]-]*$/

function ambiguityOf({ httpVersion, headersDistinct }: Request): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return `Unsupported HTTP version [${httpVersion}]: expected [1.1] or [1.0]`
  const [host, ...others] = headersDistinct.host ?? []
  if (others.length > 0) return 'The request has more than one [Host] header; expected exactly one'
  if ((headersDistinct.authorization?.length ?? 0) > 1)
    return 'The request has more than one [Authorization] header; expected at most one'
  if (host === undefined)
    return httpVersion === '1.1' ? 'The request has no [Host] header; expected exactly one' : undefined
  return hostPattern.test(host)
    ? undefined
    : 'Invalid [Host] header: expected a host name, with or without a port'
}

const skip: RequestHandler = (_request, _response, next) => next()

/** Outcomes of a login. */
const loginOutcomes = ['accepted', 'refused', 'throttled', 'unavailable'] as const
type LoginOutcome = (typeof loginOutcomes)[number]

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])

/** Initializes counters for alerts with 0. Otherwise, Prometheus would not see the first event as an increase. */
function beginCounting(metrics: Pick<Metrics, 'count'>): void {
  for (const outcome of loginOutcomes) metrics.count('svc_logins_total', { outcome }, 0)
  for (const method of knownMethods) {
    for (const code of watchedCodes)
      metrics.count('svc_http_requests_total', { method, status: String(statusOf[code]) }, 0)
  }
}

const watchedCodes = ['unauthorized', 'forbidden', 'internalServerError', 'unavailable'] as const

/** Logs requests that may change something at level info, all others and internal ones at level debug. */
function logWhenOver(
  request: Request,
  response: Response,
  log: RequestLog,
  metrics: Pick<Metrics, 'count'>,
): void {
  const startedAt = performance.now()
  response.once('finish', () => {
    const durationMs = performance.now() - startedAt
    const method = knownMethods.has(request.method) ? request.method : 'other'
    metrics.count('svc_http_requests_total', { method, status: String(response.statusCode) })
    metrics.count('svc_http_request_seconds_total', { method }, durationMs / 1000)
    const outcome: LoginOutcome | undefined = response.locals.loginOutcome
    if (outcome !== undefined) metrics.count('svc_logins_total', { outcome })
    const quiet =
      request.method === 'GET' || request.method === 'HEAD' || request.path.startsWith('/svc-internal/')
    log[quiet ? 'debug' : 'info']('Handled request', {
      requestId: response.locals.requestId,
      identity: response.locals.identity ?? '',
      address: addressOf(response),
      method: request.method,
      path: cutText(request.path, maxKeptLength),
      status: response.statusCode,
      durationMs: Math.round(durationMs),
    })
  })
}

/** Records a request if a server sent it, or if it used the internal user. */
function noteWhenOver(request: Request, response: Response, { journal, name, user }: NotedCalls): void {
  const from = cutText(headerText(request, 'x-svc-from'), maxKeptLength)
  const path = cutText(request.path, maxKeptLength)
  const { socket } = request
  response.once('close', () => {
    const identity = response.locals.identity ?? ''
    const isOfServers = from !== '' || path.startsWith('/svc-internal/')
    if (!isOfServers && (identity === '' || identity !== user())) return
    journal.add({
      time: new Date().toISOString(),
      direction: 'received',
      from,
      to: name(),
      method: request.method,
      path,
      tls: 'encrypted' in socket,
      identity,
      certificate: peerSubject(socket as TLSSocket),
      status: response.headersSent ? response.statusCode : null,
      error: response.headersSent ? null : 'the caller disconnected',
    })
  })
}

type Methods = ReadonlyMap<string, Route>

/**
 * Returns the routes by path. Literal paths come before paths with parameters, because Express takes the first match.
 */
function byPath(routes: readonly Route[]): Map<string, Methods> {
  const paths = new Map<string, Map<string, Route>>()
  const parameters = (path: string) =>
    path
      .split('/')
      .map((part) => (/[:*]/.test(part) ? '1' : '0'))
      .join('')
  const pathOfShape = new Map<string, string>()
  const ordered = [...routes].sort((a, b) => (parameters(a.path) < parameters(b.path) ? -1 : 1))
  for (const route of ordered) {
    const methods = paths.get(route.path) ?? new Map()
    const shape = route.path.replace(/:\w+/g, ':')
    const sameShape = pathOfShape.get(shape) ?? route.path
    // Express would never reach the second path, so its methods would return 405.
    if (sameShape !== route.path)
      throw new Error(`Paths ${sameShape} and ${route.path} differ only in the names of their parameters`)
    pathOfShape.set(shape, route.path)
    if (methods.has(route.method))
      throw new Error(`Two routes have the same method and path: ${route.method} ${route.path}`)
    methods.set(route.method, route)
    paths.set(route.path, methods)
  }
  return paths
}

function dispatch(
  methods: Methods,
  security: Security,
  budgets: Budgets,
  nextTurn: NextTurn,
): RequestHandler {
  const allow = [...methods.keys(), ...(methods.has('GET') ? ['HEAD'] : [])].join(', ')
  return async (request, response) => {
    const route = methods.get(request.method === 'HEAD' ? 'GET' : request.method)
    const caller =
      route?.access.kind === 'open'
        ? security.anonymousCaller
        : await authenticate(request, response, security)
    if (!route) {
      response.setHeader('Allow', allow)
      throw methodNotAllowed(`Unsupported method [${request.method}]: expected [${allow}]`)
    }
    checkContentType(request)
    await authorize(route, request, caller, security)
    checkTexts(request.params)
    checkTexts(request.query as Record<string, unknown>)
    assertNames(route, request.params as Record<string, string>)
    const leaving = callerLeaving(response)
    const query = route.query ? readListingProblems(route.query, request.query) : request.query
    const isInternal = security.isInternal(caller)
    const sender = { caller, isServer: isInternal && isLoggedIn(caller) }
    const answer = await withBody(route, request, sender, budgets, (body) =>
      route.handle({
        params: request.params as Record<string, string>,
        query,
        body,
        caller,
        word: response.locals.alias ?? 'svc',
        isInternal,
        audit: auditInfo(request, response, caller),
        get signal() {
          return leaving()
        },
        request,
        response,
      } as unknown as RouteInput<never, never>),
    )
    if (!(answer instanceof JsonPieces)) return send(response, answer)
    const { responses, name } = budgetsOf(sender, budgets)
    const release = await responses.take(name, 1)
    try {
      await sendPieces(response, answer, request.method === 'HEAD', leaving(), { nextTurn })
    } finally {
      release()
    }
  }
}

/** Returns whether the caller logged in. The identity of a caller without a login is the name of the authenticator. */
const isLoggedIn = ({ identity, authenticator }: Caller): boolean => identity !== authenticator

/**
 * Returns a signal that is aborted if the caller disconnects before the response is complete. It is created on demand,
 * because it costs more than most responses.
 */
function callerLeaving(response: Response): () => AbortSignal {
  let controller: AbortController | undefined
  let hasLeft = response.destroyed && !response.writableFinished
  response.once('close', () => {
    hasLeft = !response.writableFinished
    if (hasLeft) controller?.abort()
  })
  return () => {
    if (!controller) {
      controller = new AbortController()
      if (hasLeft) controller.abort()
    }
    return controller.signal
  }
}

async function authenticate(request: Request, response: Response, security: Security): Promise<Caller> {
  const unsecured = security.unsecured(request.path)
  if (unsecured) return unsecured
  if (request.method === 'OPTIONS' && security.openOptions) return security.anonymousCaller
  const origin = {
    address: addressOf(response),
    peer: peerAddress(request.socket),
    server: headerText(request, 'x-svc-from'),
    requestId: response.locals.requestId,
    leaving: () => callerLeaving(response)(),
  }
  const result = await security
    .authenticate(request.headers.authorization, origin)
    .catch((error: unknown) => {
      if (error instanceof Failure && error.code === 'unavailable') response.locals.loginFailure = notVerified
      throw error
    })
  if (result.kind !== 'known') response.locals.loginFailure = result.failure
  const outcome: LoginOutcome = result.kind === 'known' ? 'accepted' : result.kind
  if (request.headers.authorization !== undefined) response.locals.loginOutcome = outcome
  if (result.kind === 'unavailable') throw new Failure('unavailable', result.message)
  if (result.kind === 'throttled') {
    response.setHeader('Retry-After', String(result.retryAfterSeconds))
    throw new Failure('busy', `Too many failed logins; retry in [${result.retryAfterSeconds}] seconds`)
  }
  if (result.kind === 'refused') {
    // Like Druid 37: without a login, HEAD returns 405. The caller would not see the body of a 401.
    if (request.method === 'HEAD') throw methodNotAllowed('Method [HEAD] requires a login')
    throw unauthorized('Missing or invalid credentials')
  }
  response.locals.identity = result.caller.identity
  if (outcome === 'accepted' && request.headers.authorization !== undefined) noteLogin(request.socket)
  return result.caller
}

async function authorize(route: Route, request: Request, caller: Caller, security: Security): Promise<void> {
  const { access } = route
  if (access.kind === 'open' || access.kind === 'authenticated' || access.kind === 'stated') return
  if (access.kind === 'internal') {
    if (!security.isInternal(caller)) throw forbidden('Only servers of the cluster may call this endpoint')
    return
  }
  const name = 'name' in access ? access.name : (request.params[access.parameter] as string)
  const { action, type } = access
  if (type === 'DATASOURCE') await assertAccess(caller, name, action)
  else if (!caller.can(action, type, name)) throw missingPermission(action, type, name)
}

function checkContentType(request: Request): void {
  const isSent = hasBody(request)
  const type = request.headers['content-type']
  if (type === undefined ? !isSent : /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) return
  if (!isSent && request.method !== 'POST' && request.method !== 'PUT') return
  throw unsupportedMediaType(`Unsupported content type [${type ?? ''}]: expected [application/json]`)
}

/** Runs `work` on the body of a request. The body counts against the budgets until `work` is done. */
async function withBody(
  route: Route,
  request: Request,
  sender: Sender,
  budgets: Budgets,
  work: (body: unknown) => unknown,
): Promise<unknown> {
  const { body } = route
  if (!body) return await work(undefined)
  const { json, release } = await readJsonBody(request, { ...route, body }, sender, budgets)
  try {
    if (json === undefined && !body.optional) {
      throw invalidInput('The request has no body; expected a JSON document')
    }
    return await work(readListingProblems(body.read, json))
  } finally {
    release()
  }
}

/** Validates the datasource name in the path. */
function assertNames({ isForRules }: Route, { dataSource }: Readonly<Record<string, string>>): void {
  if (dataSource === undefined) return
  const read = isForRules ? readRulesName : readDatasourceName
  read(dataSource, 'dataSource')
}

function auditInfo(request: Request, response: Response, caller: Caller): AuditInfo {
  return {
    author: headerText(request, 'x-svc-author'),
    comment: headerText(request, 'x-svc-comment'),
    identity: caller.identity,
    ip: addressOf(response),
  }
}

function headerText(request: Request, name: string): string {
  const value = request.headers[name]
  const text = Array.isArray(value) ? value.join(', ') : (value ?? '')
  // Node reads headers as Latin-1, and most clients write UTF-8.
  const bytes = Buffer.from(text, 'latin1')
  return escapeControlCharacters(cutText(isUtf8(bytes) ? bytes.toString('utf8') : text, maxAuditTextLength))
}

/**
 * Returns the address of the caller, which was read at the start of the request: the connection may be closed by now.
 */
function addressOf(response: Response): string {
  return response.locals.address
}

function send(response: Response, answer: unknown): void {
  if (answer === streamed) return
  const reply = answer instanceof Reply ? answer : new Reply(200, answer)
  const { status, headers } = reply
  const body = response.locals.alias === undefined ? reply.body : reply.bodyInAlias
  response.status(status)
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (body === undefined) response.end()
  else if (typeof body === 'string' && headers['Content-Type'] !== undefined) response.end(body)
  else sendJson(response, body)
}

function sendJson(response: Response, body: unknown): void {
  const bytes = Buffer.from(withExactLimits(JSON.stringify(body)))
  if (!response.hasHeader('Content-Type'))
    response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.setHeader('Content-Length', bytes.length)
  response.end(bytes)
}

function answerError(
  error: unknown,
  request: Request,
  response: Response,
  log: RequestLog,
  { onForbidden, onRefused }: Pick<ApplicationOptions, 'onForbidden' | 'onRefused'>,
): void {
  const details = { requestId: response.locals.requestId, identity: response.locals.identity }
  const failure = toFailure(error, request, details, log, response.destroyed)
  if (failure.code === 'forbidden') {
    const { method, path } = request
    const identity = String(response.locals.identity ?? '')
    const { requestId } = response.locals
    const { message } = failure
    onForbidden?.({ identity, address: addressOf(response), method, path, message, requestId })
  }
  if (isAboutAccess(failure, request, response)) onRefused?.(refusalOf(request, response, failure))
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (failure.code === 'requestTimedOut') response.setHeader('Connection', 'close')
  if (failure.code === 'busy' && !response.hasHeader('Retry-After')) response.setHeader('Retry-After', '1')
  if (failure.code === 'unauthorized')
    response.setHeader('WWW-Authenticate', `Basic realm="${response.locals.alias ?? 'svc'}", charset="UTF-8"`)
  if (failure.code === 'unavailable') response.setHeader('Retry-After', '1')
  const body = errorBody(failure)
  const { alias } = response.locals
  sendJson(response.status(statusOf[failure.code]), alias === undefined ? body : errorInAlias(body, alias))
}

/** Returns whether a request failed because of its login or a missing permission. */
function isAboutAccess({ code }: Failure, request: Request, response: Response): boolean {
  const failedLogin: LoginFailure | undefined = response.locals.loginFailure
  const isFailedLogin = failedLogin !== undefined && request.headers.authorization !== undefined
  return code === 'unauthorized' || code === 'forbidden' || isFailedLogin
}

// Names and paths of requests are logged and kept, and anyone may send long ones.
const maxKeptLength = 1000

function refusalOf(request: Request, response: Response, { code, message }: Failure): RefusedRequest {
  const typed = readBasicHeader(request.headers.authorization)?.user ?? ''
  const failedLogin: LoginFailure | undefined = response.locals.loginFailure
  const { reason, because, directory } = failedLogin ?? {
    reason: 'FORBIDDEN' as const,
    because: message,
    directory: [],
  }
  return {
    id: response.locals.requestId,
    time: new Date().toISOString(),
    address: addressOf(response),
    method: request.method,
    path: cutText(escapeControlCharacters(request.path), maxKeptLength),
    status: statusOf[code],
    user: cutText(escapeControlCharacters(typed), maxKeptLength),
    message: cutText(message, maxKeptLength),
    reason,
    because: cutText(escapeControlCharacters(because), maxKeptLength),
    directory,
  }
}

/** Any error other than a Failure is a bug. It is logged with all details, but the response contains only an id. */
function toFailure(
  error: unknown,
  request: Request,
  details: object,
  log: RequestLog,
  hasCallerLeft: boolean,
): Failure {
  if (error instanceof Failure) return error
  // Express throws this for a path that it cannot decode. If a handler throws a URIError, it is a bug.
  if (error instanceof URIError && (error as { status?: number }).status === 400) {
    return invalidInput('The path or query is not properly percent-encoded')
  }
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown }
  if (code === 'ERR_STREAM_PREMATURE_CLOSE' || (hasCallerLeft && name === 'AbortError')) {
    log.debug('Caller disconnected before the response was complete', details)
    return new Failure('unavailable', 'The response was interrupted')
  }
  const id = randomUUID()
  log.error('Request failed', {
    ...details,
    errorId: id,
    method: request.method,
    path: request.path,
    error: describeError(error),
    stack: stackOf(error),
  })
  return new Failure('internalServerError', `Internal error; search the log of this server for [${id}]`, {
    errorId: id,
  })
}
