import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'

// A disk of one megabyte that only the command inside can see.
const onSmallDisk = [
  '--map-root-user',
  '--mount',
  'sh',
  '-c',
  'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"',
]

/** Whether this system can mount a small disk at a folder for a test. */
export function canMountSmallDisk(folder: string): boolean {
  try {
    execFileSync('unshare', [...onSmallDisk, folder, 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Where a script in a process of its own imports a room of this package from. */
export const doorOf = (room: string): string => new URL(`../${room}/index.ts`, import.meta.url).href

/** Runs a script in a process that has a disk of one megabyte at a folder; what it prints as JSON. */
export async function runOnSmallDisk(disk: string, script: string): Promise<unknown> {
  const command = [process.execPath, '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)('unshare', [...onSmallDisk, disk, ...command], {
    // Where the script's imports are looked for, wherever the tests are run from.
    cwd: import.meta.dirname,
  })
  return JSON.parse(stdout)
}
