import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/** Creates a folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-storage-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Runs the work without root's permission to read everything; a process that runs as root becomes an unprivileged user
 * for it. Returns false without running it if the system has no users.
 */
export async function withoutRights(work: () => Promise<void>): Promise<boolean> {
  const { geteuid, seteuid } = process
  if (geteuid === undefined || seteuid === undefined) return false
  if (geteuid() !== 0) {
    await work()
    return true
  }
  seteuid(65_534)
  try {
    await work()
  } finally {
    seteuid(0)
  }
  return true
}
