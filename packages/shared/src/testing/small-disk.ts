import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'

// A one-megabyte disk that only the command inside can see.
const onSmallDisk = [
  '--map-root-user',
  '--mount',
  'sh',
  '-c',
  'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"',
]

/** Whether this system can mount a small disk in a folder for a test. */
export function canMountSmallDisk(folder: string): boolean {
  try {
    execFileSync('unshare', [...onSmallDisk, folder, 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Returns the URL from which a script in its own process imports a folder of this package. */
export const doorOf = (room: string): string => new URL(`../${room}/index.ts`, import.meta.url).href

/** Runs a script in a process with a one-megabyte disk mounted in a folder. Returns the JSON that it prints. */
export async function runOnSmallDisk(disk: string, script: string): Promise<unknown> {
  const command = [process.execPath, '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)('unshare', [...onSmallDisk, disk, ...command], {
    // The script's imports are resolved from here, wherever the tests are run from.
    cwd: import.meta.dirname,
  })
  return JSON.parse(stdout)
}
