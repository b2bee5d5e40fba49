import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'

/**
 * Identifies one process permanently. The system reuses process IDs, so the identity includes the start time, and the
 * name of the program in case the clock is set back.
 */
export interface ProcessIdentity {
  readonly pid: number
  /** When the process started, in a format of the system; only useful for comparing. */
  readonly startTime: string
  /** File name of the program, for example `node` or `postgres`. */
  readonly program: string
}

/** The identity of the process with this ID; undefined if there is none. */
export function identify(pid: number, program: string): ProcessIdentity | undefined {
  const found = lookUp(pid)
  return found && { pid, startTime: found.startTime, program }
}

/** Whether exactly this process is running. A zombie, which has exited but was not yet reaped, is not. */
export function isRunning(process: ProcessIdentity): boolean {
  const found = lookUp(process.pid)
  return (
    found?.startTime === process.startTime &&
    !found.hasEnded &&
    commandOf(process.pid).includes(process.program)
  )
}

interface Found {
  readonly startTime: string
  readonly hasEnded: boolean
}

function lookUp(pid: number): Found | undefined {
  return process.platform === 'linux' ? lookUpOnLinux(pid) : lookUpWithPs(pid)
}

// proc(5): the second field is the program's name in parentheses and may contain anything, so fields are counted after
// the last parenthesis: the state is the first, and the start time, in clock ticks since boot, is the twentieth.
function lookUpOnLinux(pid: number): Found | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { startTime: `${bootId()}/${fields[19]}`, hasEnded: fields[0] === 'Z' || fields[0] === 'X' }
}

let knownBootId: string | undefined

function bootId(): string {
  knownBootId ??= readIfThere('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
  return knownBootId
}

function lookUpWithPs(pid: number): Found | undefined {
  const [state, ...started] = ps(pid, 'state=,lstart=').trim().split(/\s+/)
  return state ? { startTime: started.join(' '), hasEnded: state.startsWith('Z') } : undefined
}

/** The command line and the program file: a process may rewrite the former, and `unshare` replaces the latter. */
function commandOf(pid: number): string {
  if (process.platform !== 'linux') return ps(pid, 'command=')
  const commandLine = readIfThere(`/proc/${pid}/cmdline`) ?? ''
  try {
    return `${commandLine} ${path.basename(readlinkSync(`/proc/${pid}/exe`))}`
  } catch {
    // Only the owner of a process can read its program file.
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
    // ESRCH if the process exits while its file is read, ENOENT if it does not exist.
    return undefined
  }
}
