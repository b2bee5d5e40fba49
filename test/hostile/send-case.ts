import { statusOf } from '@svc/shared/http'
import type { Dispatcher } from 'undici'
import { type Endpoint, pathThroughRouter } from '../support/route-tables.ts'
import type { HostileCase } from './cases.ts'
import { type HostileInput, type InputClass, pathOf } from './input-classes.ts'
import { type RawRequest, sendInManner } from './raw-connection.ts'
import type { HostileWorld } from './world.ts'

/** The result of one hostile request. */
export interface Outcome {
  /** The status, or that the server closed the connection, or that the request timed out. */
  readonly status: number | 'closed' | 'timed out'
  readonly durationMs: number
  /** What is wrong with the answer; undefined if nothing is wrong. */
  readonly problem?: string
}

/** Requests without an answer for this long count as hanging. */
const answerTimeoutMs = 60_000
const shownCharacters = 400

/** The statuses with which any hostile request may be refused. */
const refusals: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 409, 413, 414, 415, 429, 431])

/**
 * Whether an endpoint may answer with this status: to refuse the request, or as documented, because the
 * request may be valid.
 */
function isAllowed({ answers, failures }: Endpoint, status: number): boolean {
  const isListed = answers.some((answer) => answer.status === status)
  return refusals.has(status) || isListed || failures.some((code) => statusOf[code] === status)
}

/** Stack traces and source paths must only be in the log, and no server returns HTML pages. */
const leaked = /\bat .+:\d+:\d+|\/src\/|node_modules|<html|<pre>/i

let lastBuilt:
  | { readonly by: InputClass; readonly sizeBytes: number; readonly input: HostileInput }
  | undefined

/** Builds the input of a case, or reuses that of the case before it, which often differs only in its caller. */
function inputOf({ inputClass: by, sizeBytes }: HostileCase): HostileInput {
  if (lastBuilt?.by !== by || lastBuilt.sizeBytes !== sizeBytes)
    lastBuilt = { by, sizeBytes, input: by.build(sizeBytes) }
  return lastBuilt.input
}

/** The request of a case: its target and content. */
export function requestOf(hostile: HostileCase) {
  const { endpoint, way } = hostile
  const { path, query, headers = {}, body, manner, count = 1 } = inputOf(hostile)
  const own = path ?? pathOf(endpoint)
  const routed = way === 'router' ? pathThroughRouter({ ...endpoint, path: own }) : own
  return {
    method: endpoint.method,
    path: query === undefined ? routed! : `${routed}?${query}`,
    headers,
    body: body ?? null,
    manner,
    count,
  }
}

/** Sends the copies of a case's request at once, and checks the answers. */
export async function sendCase(world: HostileWorld, hostile: HostileCase): Promise<Outcome[]> {
  const { manner, count, ...request } = requestOf(hostile)
  const instance = world.instanceOf(hostile.way === 'router' ? 'router' : hostile.endpoint.role)
  const authorization = world.authorizationOf(hostile.caller)
  const options: Dispatcher.RequestOptions = {
    origin: world.cluster.urls[instance]!,
    ...request,
    headers: { ...(authorization === undefined ? {} : { authorization }), ...request.headers },
  }
  const send =
    manner === undefined
      ? () => sendOnce(world, hostile.endpoint, options)
      : () =>
          outcomeInManner(world, hostile, { ...request, headers: options.headers as Headers, manner, count })
  return await Promise.all(Array.from({ length: hostile.copies ?? 1 }, send))
}

type Headers = Readonly<Record<string, string>>

async function outcomeInManner(
  { cluster, instanceOf }: HostileWorld,
  { endpoint, way }: HostileCase,
  request: Omit<RawRequest, 'url' | 'trusted'>,
): Promise<Outcome> {
  const startedAt = performance.now()
  const signal = AbortSignal.timeout(answerTimeoutMs)
  const outcome = (status: Outcome['status'], problem?: string): Outcome => ({
    status,
    durationMs: performance.now() - startedAt,
    ...(problem === undefined ? {} : { problem }),
  })
  try {
    const url = cluster.urls[instanceOf(way === 'router' ? 'router' : endpoint.role)]!
    const responses = await sendInManner({ ...request, url, trusted: cluster.trusted }, signal)
    const problems = responses.flatMap(
      ({ status, contentType, text }) => problemOf(endpoint, status, contentType, text) ?? [],
    )
    return outcome(responses[0]?.status ?? 'closed', problems[0])
  } catch (error) {
    return signal.aborted ? outcome('timed out', 'no answer in time') : outcome('closed', String(error))
  }
}

async function sendOnce(
  world: HostileWorld,
  endpoint: Endpoint,
  options: Dispatcher.RequestOptions,
): Promise<Outcome> {
  const startedAt = performance.now()
  const signal = AbortSignal.timeout(answerTimeoutMs)
  try {
    const answer = await world.agent.request({ ...options, signal })
    const text = await answer.body.text()
    const durationMs = performance.now() - startedAt
    const problem = problemOf(endpoint, answer.statusCode, String(answer.headers['content-type'] ?? ''), text)
    return { status: answer.statusCode, durationMs, ...(problem === undefined ? {} : { problem }) }
  } catch (error) {
    const durationMs = performance.now() - startedAt
    if (signal.aborted) return { status: 'timed out', durationMs, problem: 'no answer in time' }
    return { status: 'closed', durationMs, ...problemOfClosing(error, options) }
  }
}

/**
 * A server that refuses a large request may close the connection while the request is still being sent, but
 * not in other cases.
 */
function problemOfClosing(error: unknown, { body, path, headers }: Dispatcher.RequestOptions) {
  const sentBytes =
    (body instanceof Buffer ? body.length : 0) + path.length + JSON.stringify(headers ?? {}).length
  const code = (error as { code?: string }).code ?? ''
  const isClosed = ['EPIPE', 'ECONNRESET', 'UND_ERR_SOCKET'].includes(code)
  return isClosed && sentBytes >= 16 * 1024
    ? {}
    : { problem: `no answer: ${code} ${(error as Error).message}` }
}

function problemOf(
  endpoint: Endpoint,
  status: number,
  contentType: string,
  text: string,
): string | undefined {
  const shown = `${status} ${text.slice(0, shownCharacters)}`
  if (!isAllowed(endpoint, status)) return `status ${shown}`
  if (status < 400) return undefined
  if (!/^application\/json\b/.test(contentType)) return `content type [${contentType}]: ${shown}`
  return leaked.test(text) ? `internals in the answer: ${shown}` : undefined
}
