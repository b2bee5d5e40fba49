import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type Engine, openEngine } from './engine.ts'

/** Creates a folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-ingestion-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Opens an engine that reads and writes in the folders. It is closed after the tests of the file. */
export async function testEngine(...directories: string[]): Promise<Engine> {
  const engine = await openEngine({
    directories,
    files: [],
    spillDirectory: join(temporaryFolder(), 'spill'),
    memoryLimitBytes: 256 * 1024 * 1024,
    threads: 2,
  })
  after(() => engine.close())
  return engine
}
