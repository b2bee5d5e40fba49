import { execFile } from 'node:child_process'
import path from 'node:path'
import { bundleOf } from '@svc/cli/bundles'
import { repositoryRoot } from '@svc/cli/home'

/** Exit status and output of a command. */
export interface CommandResult {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/** The ./svc command of this checkout. */
export const svcCommand = path.join(repositoryRoot, 'svc')

/**
 * Runs what ./svc runs, and waits until it exits, for at most two minutes. The script itself would look for changed sources
 * each time.
 */
export async function runSvc(...args: string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(process.execPath, [bundleOf('svc'), ...args], { timeout: 120_000 }, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ status, stdout, stderr })
    })
  })
}
