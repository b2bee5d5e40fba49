import { Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import { describeError, Failure, unavailable } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import type { Discovery, LeadingRole } from '../discovery/index.ts'
import { failureOf } from '../http/index.ts'
import { escalatorHeader } from '../security/index.ts'
import type { ClientTls, FollowedStores } from '../tls/index.ts'

/** A call of another server. */
export interface ServiceCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  /** How long an answer may take. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** Calls of the servers among themselves, always as the escalator. */
export interface ServiceClient {
  /** Calls the leader of a role; if it cannot be reached, looks once who leads now and tries again. */
  callLeader<Answer>(role: LeadingRole, call: ServiceCall): Promise<Answer>
  /** Calls one server by its URL. */
  call<Answer>(baseUrl: string, call: ServiceCall): Promise<Answer>
  close(): void
}

// Answers larger than this are not read: no call among the servers has one.
const longestAnswerBytes = 256 * 1024 * 1024

/**
 * A client that names this server (`from`) in every call, so that others can say who had trouble with them, and
 * that trusts the certificates of its stores, or the system's where there are none.
 */
export function createServiceClient(
  settings: Settings,
  from: () => string,
  discovery: Discovery,
  stores: FollowedStores,
): ServiceClient {
  let tlsAgent = createTlsAgent(stores.current().client)
  stores.onChange(() => {
    retire(tlsAgent)
    tlsAgent = createTlsAgent(stores.current().client)
  })
  const plainAgent = new PlainAgent({ keepAlive: true, maxSockets: 64 })
  const authorization = escalatorHeader(settings)

  async function call<Answer>(
    baseUrl: string,
    { method, path, body, timeoutMs = 10_000, signal }: ServiceCall,
  ) {
    const url = new URL(path, baseUrl)
    const secure = url.protocol === 'https:'
    const data = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const timeout = AbortSignal.timeout(timeoutMs)
    const headers = {
      'X-Svc-From': from(),
      ...(authorization ? { Authorization: authorization } : {}),
      ...(data ? { 'Content-Type': 'application/json', 'Content-Length': data.length } : {}),
    }
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const request = (secure ? tlsRequest : plainRequest)(
        url,
        {
          method,
          headers,
          agent: secure ? tlsAgent : plainAgent,
          signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        },
        (response) => {
          const chunks: Buffer[] = []
          let sizeBytes = 0
          response.on('data', (chunk: Buffer) => {
            sizeBytes += chunk.length
            if (sizeBytes > longestAnswerBytes) request.destroy(new Error('the answer is too large'))
            else chunks.push(chunk)
          })
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
          )
          response.on('error', reject)
        },
      )
      request.on('error', reject)
      request.end(data)
    }).catch((error: unknown) => {
      const reason = timeout.aborted ? `no answer within [${timeoutMs}] ms` : describeError(error)
      throw new Failure(
        'unavailable',
        `Server [${baseUrl}] cannot be reached: ${reason}`,
        { server: baseUrl },
        error,
      )
    })
    const parsed = parseAnswer(answer.text)
    if (answer.status !== 200) throw failureOf(answer.status, parsed, baseUrl)
    return parsed as Answer
  }

  return {
    call,
    callLeader: async (role, request) => {
      try {
        return await call(discovery.leader(role).baseUrl, request)
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== 'unavailable' || request.signal?.aborted)
          throw error
        await discovery.refresh().catch(() => {
          throw unavailable(`No ${role} can be looked for: the metadata store is away`)
        })
        return await call(discovery.leader(role).baseUrl, request)
      }
    },
    close: () => {
      tlsAgent.destroy()
      plainAgent.destroy()
    },
  }
}

const createTlsAgent = (tls: ClientTls): TlsAgent => new TlsAgent({ ...tls, keepAlive: true, maxSockets: 64 })

/** Calls under way are finished; no connection is used once more. */
function retire(agent: TlsAgent): void {
  agent.maxFreeSockets = 0
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}

function parseAnswer(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
