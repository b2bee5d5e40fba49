/**
 * Bundles the command and the servers into plain JavaScript, because compiling hundreds of TypeScript files takes each
 * process longer than everything else at its start. This file is plain JavaScript that Node.js 22 runs directly.
 *
 * A build is a folder in .cache/build, named after a hash of its sources and complete once it has this name; the file
 * .cache/build/current contains the name of the latest. Prints the path of the folder. With the path of a folder as its
 * argument, writes the programs of the container image to it instead.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { bundle, programs, programsOfImage, root } from './bundle.mjs'

const builds = path.join(root, '.cache/build')

/** Number of builds to keep, for switching between branches. */
const keptBuilds = 5
const minAgeOfDeletedMs = 3_600_000

/** The folder of a build of the current sources; builds if there is none. */
async function ensureBuild() {
  const checkedAt = new Date()
  const name = hashOfSources()
  const folder = path.join(builds, name)
  if (existsSync(folder)) utimesSync(folder, checkedAt, checkedAt)
  else await buildOnce(folder)
  // Its time says when the sources were last checked: ./svc looks for newer ones.
  const staging = path.join(builds, `current.new-${process.pid}`)
  writeFileSync(staging, `${name}\n`)
  utimesSync(staging, checkedAt, checkedAt)
  renameSync(staging, path.join(builds, 'current'))
  return folder
}

/** If several processes build at the same time, the first one to finish wins, and the results are equal. */
async function buildOnce(folder) {
  const started = performance.now()
  const onTerminal = process.stderr.isTTY
  if (onTerminal) process.stderr.write('Building svc…')
  const staging = `${folder}.new-${process.pid}`
  try {
    await bundle(staging, programs)
    renameSync(staging, folder)
    deleteOldBuilds()
  } catch (error) {
    if (!existsSync(folder)) throw error
  } finally {
    rmSync(staging, { recursive: true, force: true })
    if (onTerminal) process.stderr.write('\r\u001b[K')
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  process.stderr.write(`Built svc from source (${seconds} s)\n`)
}

function hashOfSources() {
  const found = globSync('{packages/*,services/*,cli}/src/**/*.ts', { cwd: root })
  const sources = found.filter((file) => !file.endsWith('.test.ts'))
  const hash = createHash('sha256').update(process.platform)
  for (const file of [...sources.sort(), 'pnpm-lock.yaml', ...globSync('launcher/*.mjs', { cwd: root })])
    hash.update(`\0${file}\0`).update(readFileSync(path.join(root, file)))
  return hash.digest('hex').slice(0, 16)
}

/** Deletes all but the newest builds and those that running processes may load more files from. */
function deleteOldBuilds() {
  const folders = readdirSync(builds, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(builds, name))
    .map((folder) => ({ folder, checkedMs: statSync(folder).mtimeMs }))
    .sort((one, other) => other.checkedMs - one.checkedMs)
  const old = folders.slice(keptBuilds).filter(({ checkedMs }) => Date.now() - checkedMs > minAgeOfDeletedMs)
  if (old.length === 0) return
  const used = commandLines()
  for (const { folder } of old) if (!used.includes(folder)) rmSync(folder, { recursive: true, force: true })
}

/** The command lines of all processes. */
function commandLines() {
  if (!existsSync('/proc/self')) return execFileSync('ps', ['-axo', 'command='], { encoding: 'utf8' })
  const lines = readdirSync('/proc').map((name) => {
    try {
      return /^\d+$/.test(name) ? readFileSync(`/proc/${name}/cmdline`, 'utf8') : ''
    } catch {
      // The process has exited.
      return ''
    }
  })
  return lines.join('\n')
}

try {
  const target = process.argv[2]
  if (target === undefined) process.stdout.write(`${await ensureBuild()}\n`)
  // In the image, `svc` is on the path.
  else
    await bundle(path.resolve(target), programsOfImage, {
      reword: (text) => text.replace(/\.\/svc\b(?!-)/g, 'svc'),
    })
} catch (error) {
  process.stderr.write(`svc: Failed to build: ${error.message}\n`)
  process.exit(1)
}
