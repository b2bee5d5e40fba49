import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** The scope of a resource: a test (its context) or a file (the functions of `node:test`). */
export interface Scope {
  after(cleanUp: () => unknown): void
}

/** Creates a folder that is removed at the end of the scope. */
export function temporaryFolder(scope: Scope): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-test-'))
  scope.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Sets the PATH of this process until the end of the scope. */
export function setPath(scope: Scope, searchPath: string): void {
  const before = process.env.PATH
  scope.after(() => {
    process.env.PATH = before
  })
  process.env.PATH = searchPath
}

/** Returns a local port that is free at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Returns all files below a folder, relative to it. */
export function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(path.join(folder, name)).isFile())
    .sort()
}
