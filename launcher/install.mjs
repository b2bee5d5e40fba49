/**
 * Installs what the ./svc command needs: a newer Node.js (if the one on PATH is too old), a library
 * that Node.js needs, and the dependencies in the lock file. Plain JavaScript for Node.js 20 without dependencies. Prints
 * progress to stderr, and the output of tools only if they fail.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { libraryPath, unpackDebianPackages } from './debian-packages.mjs'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const cache = path.join(root, '.cache/launcher')
const pins = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).config

/** The first version of Node.js that can run the build (which decompresses zstd) and, for tests, TypeScript. */
const minNode = [22, 18]

/** How often the holder of the lock updates its time, and after which time without an update it has died. */
const lockPeriodMs = 1000
const abandonedAfterMs = 10_000

try {
  await install()
} catch (error) {
  process.stderr.write(`svc: ${describe(error)}\n`)
  process.exit(1)
}

async function install() {
  mkdirSync(cache, { recursive: true })
  const release = await lock(path.join(cache, 'lock'))
  try {
    const node = await ensureNode()
    await ensureDependencies(node)
    // Written last, because the ./svc script takes this file as a sign that everything is installed.
    writeAtomically(path.join(cache, 'node'), `${node}\n`)
  } finally {
    release()
  }
}

/** The path of a working Node.js that runs TypeScript. */
async function ensureNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > minNode[0] || (major === minNode[0] && minor >= minNode[1])) return process.execPath
  const folder = path.join(root, 'launcher/node')
  const installed = path.join(folder, 'node_modules/.svc-installed')
  const wanted = readFileSync(path.join(folder, 'package-lock.json'), 'utf8')
  const node = path.join(folder, 'node_modules/.bin/node')
  if (!existsSync(node) || readIfThere(installed) !== wanted) {
    checkIsAvailable(JSON.parse(wanted))
    const args = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund']
    // The packages are optional, because each is for one platform, so npm does not fail if ours is unavailable.
    await step(`Node.js ${pins.node}`, 'npm', args, {}, () => existsSync(node))
    writeAtomically(installed, wanted)
  }
  await ensureRuns(node)
  return node
}

function checkIsAvailable(lock) {
  const packages = Object.values(lock.packages)
  if (packages.some(({ os, cpu }) => os?.includes(process.platform) && cpu?.includes(process.arch))) return
  throw new Error(
    `The installer has no Node.js build for ${process.platform} ${process.arch}. Install Node.js ${minNode.join('.')} or newer yourself.`,
  )
}

/** Node.js 26 needs libatomic.so.1, which is missing in a minimal Debian: unpacks it for use with LD_LIBRARY_PATH. */
async function ensureRuns(node) {
  const libraries = path.join(cache, 'libraries')
  const known = readIfThere(libraries)?.trim()
  const attempt = tryNode(node, known)
  if (attempt.runs) return
  if (!attempt.error.includes('libatomic.so.1')) throw new Error(`Failed to run ${node}: ${attempt.error}`)
  const folder = path.join(root, '.cache/libatomic')
  try {
    await progress('the library libatomic1', () =>
      unpackDebianPackages({ names: ['libatomic1'], alsoNeeded: /^$/, folder }),
    )
  } catch (error) {
    throw new Error(
      `Node.js ${pins.node} needs the library libatomic.so.1, but svc failed to install it (${describe(error)}). Install the library as root: apt-get install libatomic1`,
    )
  }
  const again = tryNode(node, libraryPath(folder))
  if (!again.runs) throw new Error(`Failed to run ${node}: ${again.error}`)
  writeAtomically(libraries, `${libraryPath(folder)}\n`)
}

function tryNode(node, libraries) {
  const env = { ...process.env, ...(libraries ? { LD_LIBRARY_PATH: libraries } : {}) }
  const result = spawnSync(node, ['--version'], { encoding: 'utf8', env })
  return { runs: result.status === 0, error: result.error?.message ?? result.stderr.trim() }
}

async function ensureDependencies(node) {
  const installed = path.join(root, 'node_modules/.svc-installed')
  const wanted = ['pnpm-lock.yaml', 'launcher/node/package-lock.json']
    .map((name) => readFileSync(path.join(root, name), 'utf8'))
    .join('')
  if (readIfThere(installed) === wanted) return
  const libraries = readIfThere(path.join(cache, 'libraries'))?.trim()
  await step('dependencies', 'npx', ['--yes', `pnpm@${pins.pnpm}`, 'install', '--frozen-lockfile'], {
    // Without a terminal, pnpm replaces an outdated node_modules only if this is set.
    CI: 'true',
    PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH}`,
    ...(libraries ? { LD_LIBRARY_PATH: libraries } : {}),
  })
  writeAtomically(installed, wanted)
}

/** Runs one command, and shows its output if it fails or does not have the expected effect. */
async function step(what, file, args, extraEnv, hasEffect = () => true) {
  await progress(what, async () => {
    const { status, output, error } = await new Promise((resolve) => {
      const child = spawn(file, args, {
        cwd: root,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, npm_config_update_notifier: 'false', ...extraEnv },
      })
      const chunks = []
      child.stdout.on('data', (chunk) => chunks.push(chunk))
      child.stderr.on('data', (chunk) => chunks.push(chunk))
      child.on('error', (error) => resolve({ status: null, output: '', error }))
      child.on('close', (status) =>
        resolve({ status, output: Buffer.concat(chunks).toString(), error: undefined }),
      )
    })
    if (status === 0 && hasEffect()) return
    const lines = output.trim().split('\n').slice(-20).join('\n')
    if (lines) process.stderr.write(`${lines}\n`)
    const reason =
      error?.code === 'ENOENT'
        ? `"${file}" is not on PATH. Install npm.`
        : `"${file} ${args.join(' ')}" failed (exit status ${status}). Check that the package registry is reachable, and that the disk is not full.`
    throw new Error(`Failed to install ${what}: ${reason}`)
  })
}

/** Shows one line per step: what is being installed, and then how long it took. */
async function progress(what, work) {
  const started = performance.now()
  const onTerminal = process.stderr.isTTY
  if (onTerminal) process.stderr.write(`Installing ${what}…`)
  try {
    await work()
  } catch (error) {
    if (onTerminal) process.stderr.write('\n')
    throw error
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  process.stderr.write(`${onTerminal ? '\r\u001b[K' : ''}Installed ${what} (${seconds} s)\n`)
}

/** If two ./svc run at the same time, the second waits until the first has installed everything, or has died. */
async function lock(file) {
  for (let isReported = false; ; ) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' })
      const timer = setInterval(() => showSignOfLife(file), lockPeriodMs)
      return () => {
        clearInterval(timer)
        rmSync(file, { force: true })
      }
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isAbandoned(file)) {
      rmSync(file, { force: true })
      continue
    }
    if (!isReported) process.stderr.write('Waiting for another ./svc process to finish installing …\n')
    isReported = true
    await delay(100)
  }
}

function showSignOfLife(file) {
  const now = new Date()
  try {
    utimesSync(file, now, now)
  } catch {
    // A deleted lock, or a disk with errors: the installation itself reports that.
  }
}

/**
 * Whether the process that holds the lock has died. Its process ID is not enough: a full disk may leave the lock empty, and
 * another process may have the ID by now, in a container even this one.
 */
function isAbandoned(file) {
  const holder = Number(readIfThere(file))
  if (holder === process.pid || (holder > 0 && !isAlive(holder))) return true
  const { mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? {}
  return mtimeMs !== undefined && Math.abs(Date.now() - mtimeMs) > abandonedAfterMs
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function writeAtomically(file, text) {
  const staging = `${file}.new-${process.pid}`
  writeFileSync(staging, text)
  renameSync(staging, file)
}

function describe(error) {
  if (error.code === 'ENOSPC') return `No space left on the disk of [${root}]`
  if (error.code === 'EACCES' || error.code === 'EROFS')
    return `Failed to write to [${root}]: ${error.message}`
  return error.message
}
