import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/** A folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-storage-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Does the work as a user without rights where this process runs as root, who may read everything; answers false, with
 * nothing done, where neither is possible.
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
