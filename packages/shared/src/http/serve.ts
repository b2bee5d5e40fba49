import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { Failure, invalidInput } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import { loadServerIdentity } from '../tls/index.ts'
import { errorBody } from './error-body.ts'

/** The listening sockets of a server. */
export interface Listeners {
  readonly plaintextPort: number | undefined
  readonly tlsPort: number | undefined
  /** Ends the listening; requests under way are finished, at most `graceMs` long, idle connections closed. */
  close(graceMs: number): Promise<void>
}

/** Opens the ports that the configuration asks for. Throws a plain error that names the port that is taken. */
export async function listen(settings: Settings, handler: RequestListener): Promise<Listeners> {
  const host = settings.get('svc.bindOnHost') ? settings.get('svc.host') : undefined
  const servers: Server[] = []
  const start = async (server: Server, port: number, property: string): Promise<number> => {
    servers.push(server)
    server.on('clientError', answerBrokenRequest)
    server.keepAliveTimeout = 65_000
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(
          new Error(`[${property}] is [${port}], which cannot be opened on [${host ?? '*'}] (${error.code})`),
        ),
      )
      server.listen({ port, host }, resolve)
    })
    return (server.address() as AddressInfo).port
  }
  let plaintextPort: number | undefined
  let tlsPort: number | undefined
  try {
    if (settings.get('svc.enableTlsPort')) {
      const server = createTlsServer(
        { ...(await loadServerIdentity(settings)), minVersion: 'TLSv1.2' },
        handler,
      )
      tlsPort = await start(server as unknown as Server, settings.get('svc.tlsPort'), 'svc.tlsPort')
    }
    if (settings.get('svc.enablePlaintextPort')) {
      plaintextPort = await start(
        createServer(handler),
        settings.get('svc.plaintextPort'),
        'svc.plaintextPort',
      )
    }
  } catch (error) {
    for (const server of servers) server.close()
    throw error
  }
  return {
    plaintextPort,
    tlsPort,
    close: async (graceMs) => {
      await Promise.all(servers.map((server) => closeServer(server, graceMs)))
    },
  }
}

const brokenRequests: Readonly<Record<string, { readonly status: string; readonly failure: Failure }>> = {
  HPE_HEADER_OVERFLOW: {
    // RFC 6585 5: the status for header fields that are too large.
    status: '431 Request Header Fields Too Large',
    failure: new Failure('tooLarge', 'The header fields of the request are too large'),
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    failure: invalidInput('The request did not arrive whole in time'),
  },
}

/** What is no HTTP request that can be read gets the same shape of error as everything else. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const { status, failure } = brokenRequests[error.code ?? ''] ?? {
    status: '400 Bad Request',
    failure: invalidInput('The request is not well-formed HTTP'),
  }
  const body = JSON.stringify(errorBody(failure))
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

// A connection whose request ends while the server closes would stay open for the next one.
const closeIdlePeriodMs = 25

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), closeIdlePeriodMs)
    const timer = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(timer)
      resolve()
    })
    server.closeIdleConnections()
  })
}
