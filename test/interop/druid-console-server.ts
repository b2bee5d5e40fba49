import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createHttpClient } from '@svc/shared/testing'

/**
 * A console like the one of Druid's router: serves the console's files, and forwards every other path to the
 * router of a cluster.
 */
export interface ConsoleServer {
  readonly url: string
  close(): Promise<void>
}

/** The files of a console and its cluster. */
export interface ConsoleServerOptions {
  /** The folder of the console's files. */
  readonly folder: string
  readonly router: string
  /** The certificates to trust for the router, PEM. */
  readonly trusted: string | undefined
  /** `name:password` for every request. */
  readonly credentials: string | undefined
}

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
}

/** Serves a console on a free port of this machine. */
export async function startConsoleServer({
  folder,
  router,
  trusted,
  credentials,
}: ConsoleServerOptions): Promise<ConsoleServer> {
  const client = createHttpClient(router, { trusted, credentials })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? '/'
    const [name = ''] = target.split('?', 1)
    const file = path.join(folder, name === '/' ? 'unified-console.html' : path.normalize(name))
    if (request.method === 'GET' && (await stat(file).catch(() => undefined))?.isFile()) {
      response.setHeader('Content-Type', contentTypes[path.extname(file)] ?? 'application/octet-stream')
      await pipeline(createReadStream(file), response)
      return
    }
    const { host: _, connection: __, 'transfer-encoding': ___, authorization, ...headers } = request.headers
    const got = await client.open({
      path: target,
      method: request.method!,
      headers: {
        ...(headers as Record<string, string>),
        ...(authorization === undefined || credentials !== undefined ? {} : { authorization }),
      },
      pieces: request,
    })
    const { connection: ____, 'transfer-encoding': _____, ...kept } = got.headers
    response.writeHead(got.statusCode!, kept)
    await pipeline(got, response)
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(502, { 'Content-Type': 'text/plain' })
      response.end(String(error))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      client.close()
    },
  }
}
