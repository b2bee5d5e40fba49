import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** The processes whose command line names a folder, such as the home of a cluster: number and command line. */
export function processesNaming(folder: string): string[] {
  return listProcesses().filter((line) => line.includes(folder) && !line.startsWith(`${process.pid} `))
}

function listProcesses(): string[] {
  if (process.platform !== 'linux') {
    return execFileSync('ps', ['-axo', 'pid=,command='], { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.trim())
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`]
      } catch {
        // It has ended meanwhile.
        return []
      }
    })
}
