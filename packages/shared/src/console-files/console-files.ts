import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** A file of the console. */
interface ConsoleFile {
  readonly type: string
  readonly content: Buffer
  readonly isText: boolean
  zipped?: Promise<Buffer>
}

/**
 * Where the page gets its data: from a cluster that requires a login (`login`) or none (`open`), from a snapshot next to
 * the page (`snapshot`), or from files that the user chooses (`files`).
 */
export type ConsoleSource = 'login' | 'open' | 'snapshot' | 'files'

/** The files of one build of the console, by their paths below `/console/`. */
interface Build {
  readonly builtAtMs: number
  readonly files: ReadonlyMap<string, ConsoleFile>
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const pageHeaders = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

const zip = promisify(gzip)

// Shown until a source checkout has built the console. It reloads itself.
const waitingPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2"><title>svc console</title></head>
<body><h1>The console is not built yet</h1>
<p><code>./svc up</code> builds it when its source has changed, which takes a few seconds. This page reloads automatically.</p>
<p>If you still see this page after a minute, run <code>./svc dev console</code>. It builds the console or shows why the build fails.</p></body></html>
`

/**
 * Returns a function that serves the console at `/console/` and redirects browsers to it from `/`. The files in `folder` are
 * read again after a new build.
 */
export function createConsoleFiles(
  folder: string,
  source: ConsoleSource,
): (request: IncomingMessage & { readonly path: string }, response: ServerResponse) => Promise<boolean> {
  let build: Build | undefined
  const current = (): Build | undefined => {
    const builtAtMs = statSync(path.join(folder, 'index.html'), { throwIfNoEntry: false })?.mtimeMs
    if (builtAtMs === undefined) return undefined
    if (build?.builtAtMs !== builtAtMs) build = { builtAtMs, files: readFiles(folder, source) }
    return build
  }
  return async (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false
    if (request.path === '/' && isBrowser(request)) return redirect(response)
    if (request.path === '/console') return redirect(response)
    if (!request.path.startsWith('/console/')) return false
    const built = current()
    const name = request.path.slice('/console/'.length)
    const isAsset = name.startsWith('assets/')
    // The page itself has many addresses, one for each of its screens.
    const file = built?.files.get(isAsset ? name : 'index.html')
    if (isAsset && file === undefined) {
      response.writeHead(404, { ...pageHeaders, 'Content-Type': 'text/plain' }).end('Not found\n')
      return true
    }
    await send(request, response, file ?? notBuilt, isAsset)
    return true
  }
}

const notBuilt: ConsoleFile = { type: types['.html']!, content: Buffer.from(waitingPage), isText: false }

const isBrowser = ({ headers }: IncomingMessage): boolean => /\btext\/html\b/.test(headers.accept ?? '')

function redirect(response: ServerResponse): boolean {
  response.writeHead(302, { Location: '/console/', Vary: 'Accept' }).end()
  return true
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  file: ConsoleFile,
  isAsset: boolean,
): Promise<void> {
  const isZipped = file.isText && /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  if (isZipped) file.zipped ??= zip(file.content)
  const body = isZipped ? await file.zipped! : file.content
  response.writeHead(200, {
    ...pageHeaders,
    'Content-Type': file.type,
    'Content-Length': body.length,
    // The names of assets contain a hash of their content.
    'Cache-Control': isAsset ? 'public, max-age=31536000, immutable' : 'no-store',
    Vary: 'Accept-Encoding',
    ...(isZipped ? { 'Content-Encoding': 'gzip' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

function readFiles(folder: string, source: ConsoleSource): Map<string, ConsoleFile> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
  return new Map(
    names.flatMap((name): [string, ConsoleFile][] => {
      const type = types[path.extname(name)]
      if (type === undefined) return []
      const content = readFileSync(path.join(folder, name))
      const file = {
        type,
        content: name === 'index.html' ? Buffer.from(pageFor(content.toString('utf8'), source)) : content,
        isText: path.extname(name) !== '.woff2',
      }
      return [[name.split(path.sep).join('/'), file]]
    }),
  )
}

/**
 * Returns the built page for a source. The build is for chosen files and for any folder of a web server. With another
 * source, its screens have addresses of their own, so the page needs the absolute addresses of its files.
 */
export const pageFor = (page: string, source: ConsoleSource): string =>
  page
    .replace('name="svc-source" content="files"', `name="svc-source" content="${source}"`)
    .replaceAll('="./assets/', source === 'login' || source === 'open' ? '="/console/assets/' : '="./assets/')
