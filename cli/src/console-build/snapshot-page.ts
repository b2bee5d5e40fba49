import {
  copyFileSync,
  cpSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import type { ServerResponse } from 'node:http'
import path from 'node:path'
import { snapshotFiles } from '@svc/domain/snapshot'
import { type ConsoleSource, createConsoleFiles, pageFor } from '@svc/shared/console-files'
import { createNewFolder } from '../home/index.ts'
import { openFolder } from '../snapshot/index.ts'
import { builtConsole, ensureConsole } from './build-console.ts'
import { type ServedPage, serveLocally } from './local-server.ts'

/** The files of a snapshot that the page reads, and the name of their folder. */
interface PageSnapshot {
  readonly folder: string
  readonly name: string
  readonly files: readonly string[]
}

/** Where the page gets the list of files of its snapshot. */
const listFile = 'files.json'

/** Returns the files of a snapshot that the page reads. Throws a Failure if they have changed since the export. */
async function snapshotIn(folder: string): Promise<PageSnapshot> {
  await openFolder(folder).check()
  const files = Object.values(snapshotFiles).filter((name) => existsSync(path.join(folder, name)))
  return { folder, name: path.basename(path.resolve(folder)), files }
}

const sourceOf = (snapshot: PageSnapshot | undefined): ConsoleSource =>
  snapshot === undefined ? 'files' : 'snapshot'

const listOf = ({ name, files }: PageSnapshot): string => JSON.stringify({ name, files })

/**
 * Serves the console without a cluster on a port of this machine: with the snapshot in a folder, or for files that the
 * user drops. Only browsers on this machine can read it.
 */
export async function serveSnapshotPage(folder: string | undefined, port: number): Promise<ServedPage> {
  await ensureConsole()
  const snapshot = folder === undefined ? undefined : await snapshotIn(folder)
  const serveFile = createConsoleFiles(builtConsole, sourceOf(snapshot))
  return await serveLocally(port, '/console/', (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (snapshot && pathname.startsWith('/console/snapshot/')) sendSnapshot(snapshot, pathname, response)
    else
      void serveFile(Object.assign(request, { path: pathname }), response).then((isServed) => {
        if (!isServed) response.writeHead(404).end('Not found\n')
      })
  })
}

function sendSnapshot(snapshot: PageSnapshot, pathname: string, response: ServerResponse): void {
  const name = path.posix.basename(pathname)
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
  if (name === listFile) {
    response.writeHead(200, headers).end(listOf(snapshot))
    return
  }
  if (!snapshot.files.includes(name)) {
    response.writeHead(404).end('Not found\n')
    return
  }
  response.writeHead(200, headers)
  createReadStream(path.join(snapshot.folder, name))
    .on('error', (error) => response.destroy(error))
    .pipe(response)
}

/** Writes the page to a new folder for any web server, with a snapshot next to it if there is one. */
export async function writeSnapshotPage(folder: string | undefined, target: string): Promise<void> {
  await ensureConsole()
  const snapshot = folder === undefined ? undefined : await snapshotIn(folder)
  await createNewFolder(target, async (growing) => {
    const page = readFileSync(path.join(builtConsole, 'index.html'), 'utf8')
    writeFileSync(path.join(growing, 'index.html'), pageFor(page, sourceOf(snapshot)))
    cpSync(path.join(builtConsole, 'assets'), path.join(growing, 'assets'), { recursive: true })
    if (snapshot === undefined) return
    const copies = path.join(growing, 'snapshot')
    mkdirSync(copies)
    for (const name of snapshot.files) copyFileSync(path.join(snapshot.folder, name), path.join(copies, name))
    writeFileSync(path.join(copies, listFile), listOf(snapshot))
  })
}
