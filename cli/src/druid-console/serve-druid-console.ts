import { type IncomingMessage, request as requestInPlain, type ServerResponse } from 'node:http'
import { request as requestOverTls } from 'node:https'
import path from 'node:path'
import { conflict } from '@svc/domain/failure'
import { type ClusterAccess, sendRequest } from '../client/index.ts'
import { type ServedPage, serveLocally } from '../console-build/index.ts'
import { type ConsoleFiles, openConsoleFiles } from './console-files.ts'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
}

/**
 * Serves Druid's console on a port of this machine, like Druid's router does: its files, and everything else from the
 * router of a cluster. The browser asks for the login. Throws a Failure if the cluster has no alias `druid`.
 */
export async function serveDruidConsole(
  place: string,
  cluster: Pick<ClusterAccess, 'routerUrl' | 'trusted' | 'credentials'>,
  port: number,
): Promise<ServedPage> {
  const files = openConsoleFiles(place)
  const { routerUrl, trusted, credentials } = cluster
  const url = `${routerUrl}/druid/coordinator/v1/leader`
  const { status } = await sendRequest({ url, trusted, credentials })
  if (status === 404)
    throw conflict(
      `The cluster at [${routerUrl}] does not serve Druid's paths. Restart it with ./svc up --set 'svc.api.aliases=["druid"]'.`,
    )
  return await serveLocally(port, '/', (request, response) => {
    if (!sendFile(files, request, response)) forward(cluster, request, response)
  })
}

/** Sends a file of the console. Returns false if there is none at the path. */
function sendFile(files: ConsoleFiles, { method, url }: IncomingMessage, response: ServerResponse): boolean {
  if (method !== 'GET') return false
  const { pathname } = new URL(url ?? '/', 'http://localhost')
  const name = decoded(pathname)
  const content = name === undefined ? undefined : files(name)
  if (content === undefined) return false
  const type = types[pathname === '/' ? '.html' : path.extname(pathname)] ?? 'application/octet-stream'
  response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(content)
  return true
}

/** Returns a decoded path; undefined if it is invalid. */
function decoded(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return undefined
  }
}

/** Forwards a request to the router, with the login of the browser. */
function forward(
  { routerUrl, trusted }: Pick<ClusterAccess, 'routerUrl' | 'trusted'>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { host: _, origin: __, ...headers } = request.headers
  const send = routerUrl.startsWith('https:') ? requestOverTls : requestInPlain
  const outgoing = send(
    `${routerUrl}${request.url}`,
    { method: request.method, headers, ...(trusted === undefined ? {} : { ca: trusted }) },
    (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.on('error', (error) => response.destroy(error)).pipe(response)
    },
  )
  outgoing.on('error', (error) => {
    if (response.headersSent) response.destroy(error)
    else response.writeHead(502, { 'Content-Type': 'text/plain' }).end(`${error.message}\n`)
  })
  response.on('close', () => outgoing.destroy())
  request.pipe(outgoing)
}
