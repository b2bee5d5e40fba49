import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { unavailable } from '@svc/domain/failure'

/** A page that is served. */
export interface ServedPage {
  readonly url: string
  close(): void
}

/** Serves a page on a port of this machine. Only browsers on this machine can read it, and no other site in them. */
export async function serveLocally(
  port: number,
  path: string,
  listener: RequestListener,
): Promise<ServedPage> {
  const server = createServer((request, response) => {
    if (!isLocal(request)) response.writeHead(403).end('This page is available only on this machine.\n')
    // Such as //, which is the start of a host name.
    else if (!URL.canParse(request.url ?? '', 'http://localhost'))
      response.writeHead(400).end('Invalid path\n')
    else listener(request, response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw unavailable(`Cannot open port [${port}] (${error.code}): choose another port with --port`)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Another site may have a name that resolves to this machine, or send requests from its own pages. */
function isLocal({ headers: { host = '', origin } }: IncomingMessage): boolean {
  return (
    /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host) && (origin === undefined || origin === `http://${host}`)
  )
}
