import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Commands to run, and their line in the page. */
export interface ShellCommands {
  readonly commands: string
  /** Line of the page with the first command; error messages of the shell name it. */
  readonly line: number
  /** Whether the commands after one that fails are run too. */
  readonly runsOn: boolean
}

/** How a block of commands ended; the status is undefined where it was ended because it took too long. */
export interface ShellResult {
  readonly status: number | undefined
  /** Standard output and standard error, as a terminal would show them. */
  readonly output: string
}

/** A bash that runs one block after the other, as a reader's terminal does. */
export interface ShellSession {
  run(commands: ShellCommands): Promise<ShellResult>
  /** Ends the shell, and what it started in the background. */
  close(): Promise<void>
}

/** What a session needs. */
export interface SessionOptions {
  /** The folder in which the commands run. */
  readonly folder: string
  /** A folder for the files of the session. */
  readonly scratch: string
  /** Name under which the shell reports errors. */
  readonly name: string
  /** Command line that runs bash, such as in a network of its own. */
  readonly launch: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Milliseconds that one block may take. */
  readonly maxBlockMs: number
}

/** Command line that runs a program in a network of its own, where all ports are free; undefined where none can be made. */
export function ownNetwork(): readonly string[] | undefined {
  const launch = ['unshare', '--net', '--', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
  try {
    execFileSync(launch[0]!, [...launch.slice(1), 'true'], { stdio: 'ignore' })
    return launch
  } catch {
    return undefined
  }
}

/** Starts a session; it must be closed. */
export function openSession(options: SessionOptions): ShellSession {
  mkdirSync(options.scratch, { recursive: true })
  const [program, ...args] = [...options.launch, 'bash', '--noprofile', '--norc']
  const child = spawn(program!, args, {
    cwd: options.folder,
    env: { ...process.env, ...options.environment },
    stdio: ['pipe', 'ignore', 'inherit', 'pipe'],
    // A group of its own, so that a block that hangs can be ended with what it waits for.
    detached: true,
  })
  const ended = once(child, 'exit')
  const killGroup = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // Nothing is left in the group of the shell.
    }
  }
  // Also if the test is interrupted.
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
      // The commands are on the same lines as in the page.
      const before = commands.runsOn ? 'set +e' : 'set -e'
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

/** The status of the block that runs, or of the shell that ended with it; undefined when it takes too long. */
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
    // The pipe of a shell that is killed may end without its iterator noticing, so the end of the shell counts too.
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
