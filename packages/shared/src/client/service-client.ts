import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { describeError, Failure, unavailable } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import type { Discovery, LeadingRole } from '../discovery/index.ts'
import { failureOf, peerSubject } from '../http/index.ts'
import { createEscalator, type Escalator } from '../security/index.ts'
import type { FollowedStores } from '../tls/index.ts'
import type { CallJournal } from './call-journal.ts'
import { type Connections, openConnections } from './connections.ts'

/** A call to another server. */
export interface ServiceCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  /** Timeout of the response. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** Calls between servers, always as the escalator. */
export interface ServiceClient {
  /** Calls the leader of a role. If it cannot be reached, refreshes the leader once and retries. */
  callLeader<Answer>(role: LeadingRole, call: ServiceCall): Promise<Answer>
  /** Calls one server by its URL. */
  call<Answer>(baseUrl: string, call: ServiceCall): Promise<Answer>
  /**
   * Returns the response body as a stream; `timeoutMs` applies to the response head. The caller must read it to the end
   * or destroy it.
   */
  open(baseUrl: string, call: ServiceCall): Promise<Readable>
  close(): void
}

// Larger responses are rejected; no call between servers has one.
const maxAnswerBytes = 256 * 1024 * 1024

/** Further options of a client. */
export interface ServiceClientOptions {
  /** The identity of the calls; defaults to that of the settings. */
  readonly escalator?: Escalator
  /** Records the calls. */
  readonly journal?: CallJournal
  /** Applies injected faults to a call. Throws if they cut it. */
  readonly applyFaults?: (baseUrl: string, path: string) => Promise<void>
}

/**
 * Creates a client that sends the name of this server (`from`) with every call, so that other servers can log it, and
 * that trusts the certificates of its stores, or the system certificates if there are none.
 */
export function createServiceClient(
  settings: Settings,
  from: () => string,
  discovery: Discovery,
  stores: FollowedStores,
  { escalator = createEscalator(settings), journal, applyFaults }: ServiceClientOptions = {},
): ServiceClient {
  const connections = openConnections(stores)
  const record = sentCallRecorder(from, escalator, journal)
  const send = createSender(from, escalator, connections, record, applyFaults)

  async function call<Answer>(baseUrl: string, request: ServiceCall): Promise<Answer> {
    const { timeoutMs = 10_000, signal } = request
    const limit = limitTime(timeoutMs, signal)
    let status = 0
    const text = await send(baseUrl, request, limit.signal)
      .then((response) => {
        status = response.statusCode ?? 0
        return readText(response)
      })
      .catch((error: unknown) => {
        throw unreachable(baseUrl, limit.reasonOf(error), error)
      })
      .finally(limit.end)
    const parsed = parseAnswer(text)
    if (status !== 200) throw failureOf(status, parsed, baseUrl)
    return parsed as Answer
  }

  async function callLeader<Answer>(role: LeadingRole, request: ServiceCall): Promise<Answer> {
    // Retries only once, because the caller waits. The leader is looked up again in between.
    try {
      return await call(discovery.leader(role).baseUrl, request)
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unavailable' || request.signal?.aborted) throw error
      await discovery.refresh().catch(() => {
        throw unavailable(`Failed to look up the ${role} leader: the metadata store is unavailable`)
      })
      return await call(discovery.leader(role).baseUrl, request)
    }
  }

  return {
    call,
    callLeader,
    open: (baseUrl, request) => openStream(send, baseUrl, request),
    close: connections.close,
  }
}

/** Sends a request, and resolves with the response once its head has arrived. */
type Send = (baseUrl: string, call: ServiceCall, signal: AbortSignal) => Promise<IncomingMessage>

/** Records a call that was sent, with its response or error. */
type RecordCall = (
  baseUrl: string,
  call: ServiceCall,
  outcome: { readonly response?: IncomingMessage; readonly error?: unknown },
) => void

function createSender(
  from: () => string,
  escalator: Escalator,
  connections: Connections,
  record: RecordCall,
  applyFaults: ServiceClientOptions['applyFaults'],
): Send {
  return async (baseUrl, call, signal) => {
    const { method, path, body } = call
    await applyFaults?.(baseUrl, path).catch((error: unknown) => {
      record(baseUrl, call, { error })
      throw error
    })
    const authorization = escalator.header()
    const data = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const headers = {
      'X-Svc-From': from(),
      ...(authorization ? { Authorization: authorization } : {}),
      ...(data ? { 'Content-Type': 'application/json', 'Content-Length': data.length } : {}),
    }
    const request = { method, headers, data, signal }
    const response = await connections.send(new URL(path, baseUrl), request).catch((error: unknown) => {
      record(baseUrl, call, { error })
      throw error
    })
    if (response.statusCode === 401) escalator.refused()
    record(baseUrl, call, { response })
    return response
  }
}

function sentCallRecorder(
  from: () => string,
  escalator: Escalator,
  journal: CallJournal | undefined,
): RecordCall {
  return (baseUrl, { method, path }, { response, error }) =>
    journal?.add({
      time: new Date().toISOString(),
      direction: 'sent',
      from: from(),
      to: baseUrl,
      method,
      path: path.split('?', 1)[0] ?? '',
      tls: baseUrl.startsWith('https:'),
      identity: escalator.identity(),
      certificate: response ? peerSubject(response.socket as TLSSocket) : null,
      status: response?.statusCode ?? null,
      error: error === undefined ? null : describeError(error),
    })
}

async function openStream(send: Send, baseUrl: string, request: ServiceCall): Promise<Readable> {
  const { timeoutMs = 10_000, signal } = request
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), timeoutMs)
  try {
    const both = signal ? AbortSignal.any([signal, late.signal]) : late.signal
    const response = await send(baseUrl, request, both)
    if (response.statusCode === 200) return response
    throw failureOf(response.statusCode ?? 0, parseAnswer(await readText(response)), baseUrl)
  } catch (error) {
    if (error instanceof Failure) throw error
    const reason = late.signal.aborted ? `no response within [${timeoutMs}] ms` : describeError(error)
    throw unreachable(baseUrl, reason, error)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Returns a signal that is aborted after a time, or with another signal. `end` removes the timer and the listener when the request is
 * over. Servers that call each other often would otherwise keep thousands.
 */
function limitTime(timeoutMs: number, signal: AbortSignal | undefined) {
  const controller = new AbortController()
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    controller.abort()
  }, timeoutMs)
  const abort = (): void => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort)
  return {
    signal: controller.signal,
    reasonOf: (error: unknown): string =>
      timedOut ? `no response within [${timeoutMs}] ms` : describeError(error),
    end: (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    },
  }
}

const unreachable = (baseUrl: string, reason: string, error: unknown): Failure =>
  new Failure('unavailable', `Server [${baseUrl}] cannot be reached: ${reason}`, { server: baseUrl }, error)

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length
    if (sizeBytes > maxAnswerBytes) throw new Error('the response is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseAnswer(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
