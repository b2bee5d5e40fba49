import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Returns the processes whose command line contains a folder, such as the home of a cluster: process id and
 * command line.
 */
export function processesNaming(folder: string): string[] {
  return listProcesses().filter((line) => line.includes(folder) && !line.startsWith(`${process.pid} `))
}

/** Returns the parent of a process; undefined if the process has exited. */
export function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before it is in parentheses and may contain anything.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
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
        // It has exited in the meantime.
        return []
      }
    })
}
