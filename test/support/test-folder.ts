import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const folders = new Set<string>()

// A test that is told to end takes along what it has started and made.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
process.once('exit', () => {
  for (const folder of folders) {
    try {
      removeTestFolder(folder)
    } catch {
      // A process that is just being killed has written into it.
    }
  }
})

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
