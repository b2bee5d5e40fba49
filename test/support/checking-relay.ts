import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createHttpClient } from '@svc/shared/testing'
import { checkAnswer } from './check-answer.ts'

/** A proxy that checks each answer. */
export interface CheckingRelay {
  readonly url: string
  /** The answers that did not match the OpenAPI document. */
  readonly problems: readonly string[]
  end(): Promise<void>
}

// Drop the headers of a single connection; the body arrives complete.
const ownHeaders = ['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive']

/**
 * Starts a proxy in front of the server at `url`; `trusted` is the authority of the server's certificate, if
 * it has one.
 */
export async function startCheckingRelay(url: string, trusted: string | undefined): Promise<CheckingRelay> {
  const problems: string[] = []
  const client = createHttpClient(url, {
    trusted,
    onAnswer: (request, answer) => {
      try {
        checkAnswer(request, answer)
      } catch (error) {
        problems.push((error as Error).message)
      }
    },
  })
  const server = createServer(async (request, response) => {
    const { method = 'GET', url: path = '/' } = request
    const headers = Object.entries(request.headers).filter(([name]) => !ownHeaders.includes(name))
    const body = await buffer(request)
    const answer = await client.send({
      method,
      path,
      headers: Object.fromEntries(headers) as Record<string, string>,
      ...(body.length > 0 ? { text: body } : {}),
    })
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined && !ownHeaders.includes(name)) response.setHeader(name, value)
    response.writeHead(answer.status).end(answer.text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    problems,
    end: async () => {
      server.closeAllConnections()
      server.close()
      client.close()
    },
  }
}
