import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'

/**
 * Names one process for good. A number alone is used again by the system, so the start time stands beside it, and the
 * name of the program, which guards against a clock that was set back.
 */
export interface ProcessIdentity {
  readonly pid: number
  /** When the process started, in the system's own terms; only equality has a meaning. */
  readonly startTime: string
  /** File name of the program, such as `node` or `postgres`. */
  readonly program: string
}

/** The identity of a process that runs now; undefined when there is none with this number. */
export function identify(pid: number, program: string): ProcessIdentity | undefined {
  const startTime = startTimeOf(pid)
  return startTime === undefined ? undefined : { pid, startTime, program }
}

/** Whether exactly this process still runs. A zombie, ended but not yet collected by its parent, does not. */
export function isRunning(process: ProcessIdentity): boolean {
  return startTimeOf(process.pid) === process.startTime && commandOf(process.pid).includes(process.program)
}

function startTimeOf(pid: number): string | undefined {
  return process.platform === 'linux' ? startTimeOnLinux(pid) : startTimeFromPs(pid)
}

// proc(5): the second field is the program's name in brackets and may hold anything, so fields count from the last
// bracket: the state comes first, the start time in clock ticks since boot twentieth.
function startTimeOnLinux(pid: number): string | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const state = fields[0]
  if (state === 'Z' || state === 'X') return undefined
  return `${bootId()}/${fields[19]}`
}

let knownBootId: string | undefined

function bootId(): string {
  knownBootId ??= readIfThere('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
  return knownBootId
}

function startTimeFromPs(pid: number): string | undefined {
  const [state, ...started] = ps(pid, 'state=,lstart=').trim().split(/\s+/)
  return !state || state.startsWith('Z') ? undefined : started.join(' ')
}

/** The command line and the file of the program: a process may rewrite the one, and `unshare` replaces the other. */
function commandOf(pid: number): string {
  if (process.platform !== 'linux') return ps(pid, 'command=')
  const commandLine = readIfThere(`/proc/${pid}/cmdline`) ?? ''
  try {
    return `${commandLine} ${path.basename(readlinkSync(`/proc/${pid}/exe`))}`
  } catch {
    // Only the owner of a process may see its file.
    return commandLine
  }
}

function ps(pid: number, format: string): string {
  try {
    return execFileSync('ps', ['-o', format, '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return ''
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // A process that ended while its file was read gives ESRCH, one that never was ENOENT.
    return undefined
  }
}
