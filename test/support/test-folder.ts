import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const folders = new Set<string>()

function removeAll(): void {
  for (const folder of folders) {
    try {
      removeTestFolder(folder)
    } catch {
      // A process that is being killed may have written another file.
    }
  }
}

process.once('beforeExit', removeAll)
// A terminated test runs its exit listeners: first to stop what it started, then to delete its folders.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    process.once('exit', removeAll)
    process.exit(1)
  })
}

/** Returns a new empty folder, which is deleted at the latest when this process exits. */
export function newTestFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-e2e-'))
  folders.add(folder)
  return folder
}

/** Deletes a folder of `newTestFolder` with all its files. */
export function removeTestFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  folders.delete(folder)
}
