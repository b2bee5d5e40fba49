import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { conflict, unavailable } from '@svc/domain/failure'
import { type HomeLayout, homeArgument } from '../home/index.ts'
import { identify, isRunning } from '../processes/index.ts'
import { postgresMajor } from './binaries.ts'
import type { RunAs } from './run-as.ts'
import { storeTemplate, templateFor } from './template.ts'

/** The superuser of the embedded Postgres, and the name of its database. */
export const postgresUser = 'svc'

/** Checks the data folder of an earlier start. Throws a Failure if this Postgres cannot use it. */
export function checkDataFolder(home: HomeLayout): void {
  if (!existsSync(home.postgres)) return
  const version = readIfThere(path.join(home.postgres, 'PG_VERSION'))?.trim()
  if (version === postgresMajor) {
    checkOwner(home)
    return
  }
  const problem =
    version === undefined
      ? `is damaged: [${home.postgres}] is not a Postgres data folder`
      : `was created with Postgres [${version}], expected [${postgresMajor}]`
  throw conflict(
    `Home [${home.root}] ${problem}. ` +
      `Delete all state of this home with ./svc reset${homeArgument(home.root)}, or select another home with --home.`,
  )
}

/**
 * Creates the data folder with its superuser and database if there is none, from a template if there is one already;
 * the folder appears only when it is complete.
 * Returns whether it was created. Throws a Failure with the error of Postgres, or the reason of the signal.
 */
export async function ensureDataFolder(
  home: HomeLayout,
  runAs: RunAs,
  password: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (existsSync(home.postgres)) return false
  const staging = `${home.postgres}.new`
  const template = templateFor(runAs)
  rmSync(staging, { recursive: true, force: true })
  try {
    mkdirSync(staging, { mode: 0o700 })
    if (runAs.id !== undefined) chownSync(staging, runAs.id, runAs.id)
    if (existsSync(template)) await copyFolder(template, staging, signal)
    else {
      await initialize(runAs, staging, `${home.postgres}.password`, signal)
      await runStatement(runAs, staging, `CREATE DATABASE ${postgresUser}`, signal)
      await storeTemplate(template, (folder) => copyFolder(staging, folder, signal))
    }
    const literal = `'${password.replaceAll("'", "''")}'`
    await runStatement(runAs, staging, `ALTER ROLE ${postgresUser} PASSWORD ${literal}`, signal)
    renameSync(staging, home.postgres)
    return true
  } finally {
    // A canceled initdb may still be writing files.
    rmSync(staging, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

/**
 * Deletes a stale postmaster.pid. Postgres does that itself, unless another process has the same process ID by now, for
 * example after a reboot: then it would not start.
 */
export function removeStalePidFile(home: HomeLayout): void {
  const file = path.join(home.postgres, 'postmaster.pid')
  const pid = Number(readIfThere(file)?.split('\n')[0])
  if (!(pid > 0)) return
  const other = identify(pid, home.postgres)
  if (!other || !isRunning(other)) rmSync(file, { force: true })
}

/** Whether the server of this data folder accepts connections, according to its pid file, which pg_ctl reads, too. */
export function isPostgresReady(home: HomeLayout, pid: number): boolean {
  const lines = readIfThere(path.join(home.postgres, 'postmaster.pid'))?.split('\n')
  return Number(lines?.[0]) === pid && lines?.[7]?.trim() === 'ready'
}

function checkOwner(home: HomeLayout): void {
  const uid = process.getuid?.()
  const owner = statSync(home.postgres).uid
  if (uid === undefined || uid === 0 || owner === uid) return
  throw conflict(
    `[${home.postgres}] is owned by user ID [${owner}], but you are user ID [${uid}]. ` +
      'Run ./svc as the user who created the home, or select another home with --home.',
  )
}

async function initialize(
  runAs: RunAs,
  folder: string,
  passwordFile: string,
  signal: AbortSignal,
): Promise<void> {
  // Nobody knows this password: templates must not contain the password of a home.
  writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 })
  if (runAs.id !== undefined) chownSync(passwordFile, runAs.id, runAs.id)
  // --no-sync: if the machine crashes in this half second, the folder does not exist and is created again.
  const args = ['-D', folder, '-U', postgresUser, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`]
  const more = ['-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions']
  try {
    await runTool(runAs, 'initdb', [...args, ...more], '', signal)
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

// Each login repeats the derivation of the key this often, which slows down guessing the password from its stored digest. The
// password of a home is random and long, so nobody can guess it, and logins are faster with fewer iterations than the default.
const passwordIterations = 100

// Single-user mode needs no server, no port, and no client library.
async function runStatement(
  runAs: RunAs,
  folder: string,
  statement: string,
  signal: AbortSignal,
): Promise<void> {
  const settings = ['log_checkpoints=off', 'fsync=off', `scram_iterations=${passwordIterations}`]
  const args = ['--single', '-D', folder, ...settings.flatMap((setting) => ['-c', setting]), 'postgres']
  await runTool(runAs, 'postgres', args, `${statement}\n`, signal)
}

/** Copies the contents of a folder with owners and permissions; `to` may exist. */
async function copyFolder(from: string, to: string, signal: AbortSignal): Promise<void> {
  mkdirSync(to, { recursive: true, mode: 0o700 })
  await promisify(execFile)('cp', ['-a', `${from}/.`, to], {
    signal,
    env: { ...process.env, LC_ALL: 'C' },
  }).catch((error: Error & { stderr?: string }) => {
    signal.throwIfAborted()
    if (error.stderr?.includes('No space left on device')) throw Object.assign(error, { code: 'ENOSPC' })
    throw unavailable(`Failed to copy the Postgres data folder: ${error.stderr?.split('\n')[0]}`)
  })
}

const noLoader =
  'Postgres does not run on this system, because the GNU C library is missing. For example, Alpine Linux is unsupported.'

/** Whether a program exists, but not what it needs to be loaded. */
const isWithoutLoader = (error: NodeJS.ErrnoException, file: string): boolean =>
  error.code === 'ENOENT' && existsSync(file)

async function runTool(
  runAs: RunAs,
  program: string,
  args: readonly string[],
  input: string,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const [file, ...before] = [...runAs.prefix, path.join(runAs.binaries, 'bin', program)]
  const child = spawn(file!, [...before, ...args], {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
    signal,
    ...(runAs.id === undefined ? {} : { uid: runAs.id, gid: runAs.id }),
  })
  let printed = ''
  const collect = (chunk: Buffer) => {
    printed += chunk
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  child.stdin.on('error', () => {
    // The program exited before it read its input; its exit status says why.
  })
  child.stdin.end(input)
  const status = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(isWithoutLoader(error, file!) ? noLoader : error.message))
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  signal.throwIfAborted()
  // A statement that fails in single-user mode does not change the exit status.
  const reported = /(?:FATAL|ERROR|error): +(.*)/.exec(printed)?.[1]
  if (status === 0 && !reported) return
  if (printed.includes('No space left on device'))
    throw Object.assign(new Error(reported), { code: 'ENOSPC' })
  if (status === noLoader) throw unavailable(noLoader)
  const lastLine = printed.trim().split('\n').at(-1)
  throw unavailable(
    `Failed to create the Postgres data folder: ${reported ?? (lastLine || `${program} exited with status [${status}]`)}`,
  )
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
