import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import type { Socket } from 'node:net'
import path from 'node:path'
import { describeError, unavailable } from '@svc/domain/failure'
import { repositoryRoot } from '../home/index.ts'

const folder = path.join(repositoryRoot, 'console')
const vite = path.join(folder, 'node_modules/vite/bin/vite.js')
/** The folder of the built console. */
export const builtConsole = path.join(folder, 'dist')
const stamp = path.join(builtConsole, '.built-from')
/** Everything that the console is built from. */
const sources = [
  'console/{index.html,package.json,vite.config.ts,tsconfig.json}',
  'console/src/**/*',
  'packages/domain/src/**/*.ts',
  'pnpm-lock.yaml',
]

/**
 * Builds the console in the background if its source has changed since the last build. Calls `onProblem` with a message
 * if the build fails; the cluster works without a console.
 */
export function keepConsoleCurrent(onProblem: (problem: string) => void): void {
  // An installation without tools for development comes with a console.
  if (!existsSync(vite) || isCurrent() || isBeingBuilt()) return
  buildConsole({ isInBackground: true }).catch((error: unknown) =>
    onProblem(`Failed to build the console: ${describeError(error)}`),
  )
}

/** Builds the console unless the build on disk is current. */
export async function ensureConsole(): Promise<void> {
  if (existsSync(vite) && !isCurrent()) await buildConsole()
}

/** Whether the build on disk is one of the current source. */
const isCurrent = (): boolean => existsSync(stamp) && readFileSync(stamp, 'utf8') === sourceHash()

// A build that takes longer was killed.
const maxBuildMs = 60_000

/** Whether another process builds the console: several clusters of a checkout may start at the same time. */
const isBeingBuilt = (): boolean =>
  globSync('.next-*', { cwd: folder }).some(
    (name) =>
      Date.now() - (statSync(path.join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0) < maxBuildMs,
  )

/**
 * Builds the console. The router serves the old one until the new one is complete. A build in the background ends with
 * this process, which does not wait for it.
 */
export async function buildConsole({ isInBackground = false } = {}): Promise<void> {
  const hash = sourceHash()
  const next = path.join(folder, `.next-${process.pid}`)
  const discard = () => rmSync(next, { recursive: true, force: true })
  process.once('exit', discard)
  try {
    mkdirSync(next, { recursive: true })
    await runVite(['build', '--outDir', next, '--emptyOutDir', '--logLevel', 'error', folder], isInBackground)
    writeFileSync(path.join(next, path.basename(stamp)), hash)
    rmSync(builtConsole, { recursive: true, force: true })
    renameSync(next, builtConsole)
  } finally {
    process.off('exit', discard)
    discard()
  }
}

async function runVite(args: readonly string[], isInBackground: boolean): Promise<void> {
  const child = spawn(process.execPath, [vite, ...args], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const end = () => child.kill('SIGKILL')
  if (isInBackground) {
    child.unref()
    ;(child.stderr as Socket).unref()
  }
  process.once('exit', end)
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  }).finally(() => process.off('exit', end))
  if (status !== 0) throw unavailable(`Vite failed: ${output.trim().slice(0, 2000)}`)
}

function sourceHash(): string {
  const hash = createHash('sha256')
  for (const file of globSync([...sources], { cwd: repositoryRoot, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()) {
    hash.update(path.relative(repositoryRoot, file))
    hash.update(readFileSync(file))
  }
  return hash.digest('hex')
}
