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

/** The identity of the process that has this number; undefined when there is none. */
export function identify(pid: number, program: string): ProcessIdentity | undefined {
  const found = lookUp(pid)
  return found && { pid, startTime: found.startTime, program }
}

/** Whether exactly this process still runs. A zombie, ended but not yet collected by its parent, does not. */
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

// proc(5): the second field is the program's name in brackets and may hold anything, so fields count from the last
// bracket: the state comes first, the start time in clock ticks since boot twentieth.
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
