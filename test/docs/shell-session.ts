import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Commands to run, and their line in the page. */
export interface ShellCommands {
  readonly commands: string
  /** Line of the page with the first command, for the shell's error messages. */
  readonly line: number
  /** Whether to continue after a command that fails. */
  readonly runsOn: boolean
}

/** How a block of commands ended; the status is undefined if the block exceeded the time limit. */
export interface ShellResult {
  readonly status: number | undefined
  /** Standard output and standard error combined, as in a terminal. */
  readonly output: string
}

/** A bash that runs one block after another, as a reader's terminal does. */
export interface ShellSession {
  run(commands: ShellCommands): Promise<ShellResult>
  /** Stops the shell and its background processes. */
  close(): Promise<void>
}

/** Options of a session. */
export interface SessionOptions {
  /** The folder in which the commands run. */
  readonly folder: string
  /** A folder for the files of the session. */
  readonly scratch: string
  /** Name of the script in the shell's error messages. */
  readonly name: string
  /** Command line that runs bash, for example in a network of its own. */
  readonly launch: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Milliseconds that one block may take. */
  readonly maxBlockMs: number
}

/**
 * Command line that runs a program in a network of its own, where all ports are free; undefined if that is
 * not possible.
 */
export function ownNetwork(): readonly string[] | undefined {
  const launch = ['unshare', '--net', '--', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
  try {
    execFileSync(launch[0]!, [...launch.slice(1), 'true'], { stdio: 'ignore' })
    return launch
  } catch {
    return undefined
  }
}

/** Starts a session; the caller must close it. */
export function openSession(options: SessionOptions): ShellSession {
  mkdirSync(options.scratch, { recursive: true })
  const [program, ...args] = [...options.launch, 'bash', '--noprofile', '--norc']
  const child = spawn(program!, args, {
    cwd: options.folder,
    // If these tests are the first command in a clone, its installation is not part of the time of the commands in them.
    env: { ...process.env, SVC_STARTED_AT: undefined, ...options.environment },
    stdio: ['pipe', 'ignore', 'inherit', 'pipe'],
    // A process group of its own, so that a block that hangs can be killed together with its child processes.
    detached: true,
  })
  const ended = once(child, 'exit')
  const killGroup = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // The shell's process group is already gone.
    }
  }
  // Also runs if the test is interrupted.
  process.once('exit', killGroup)
  const statuses = createInterface({ input: child.stdio[3] as Readable })[Symbol.asyncIterator]()
  let count = 0
  return {
    run: async (commands) => {
      count += 1
      const file = path.join(options.scratch, options.name)
      const output = path.join(options.scratch, `output-${count}`)
      writeFileSync(output, '')
      mkdirSync(path.dirname(file), { recursive: true })
      // Blank lines keep the line numbers of the page.
      const before = commands.runsOn ? 'set +e +o pipefail' : 'set -e -o pipefail'
      writeFileSync(file, `${before}${'\n'.repeat(commands.line - 1)}${commands.commands}\n`)
      child.stdin!.write(`. '${file}' >'${output}' 2>&1 3>&- </dev/null; echo $? >&3\n`)
      const status = await nextStatus(child, ended, statuses, options.maxBlockMs)
      return { status, output: readFileSync(output, 'utf8').replaceAll(options.scratch + path.sep, '') }
    },
    close: async () => {
      child.stdin!.end()
      await ended
      killGroup()
      process.removeListener('exit', killGroup)
    },
  }
}

/** The status of the running block, or of a shell that exits during it; undefined after the time limit. */
async function nextStatus(
  child: ChildProcess,
  ended: Promise<unknown>,
  statuses: AsyncIterator<string>,
  maxMs: number,
): Promise<number | undefined> {
  let isTooLate = false
  const timer = setTimeout(() => {
    isTooLate = true
    process.kill(-child.pid!, 'SIGKILL')
  }, maxMs)
  try {
    // The pipe of a killed shell may end without notifying its iterator, so also watch for the shell's exit.
    const status = await Promise.race([
      statuses.next().then(({ value, done }) => (done ? ended.then(() => undefined) : Number(value))),
      ended.then(() => undefined),
    ])
    if (status !== undefined) return status
    return isTooLate ? undefined : (child.exitCode ?? 1)
  } finally {
    clearTimeout(timer)
  }
}
