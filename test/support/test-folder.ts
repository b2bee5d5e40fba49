import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const folders = new Set<string>()

function removeAll(): void {
  for (const folder of folders) {
    try {
      removeTestFolder(folder)
    } catch {
      // A process that is just being killed has written into it once more.
    }
  }
}

process.once('beforeExit', removeAll)
// A test that is told to end takes along what it has started, by listeners to its end, and then what it has made.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    process.once('exit', removeAll)
    process.exit(1)
  })
}

/** A new empty folder, which is gone at the latest when this process ends. */
export function newTestFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-e2e-'))
  folders.add(folder)
  return folder
}

/** Removes a folder that `newTestFolder` has made, with all that is in it. */
export function removeTestFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  folders.delete(folder)
}
