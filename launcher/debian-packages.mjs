/**
 * Unpacks Debian or Ubuntu packages into a separate folder, without installing them and without root. Used for what is
 * missing on a minimal machine: a library that Node.js needs, and a Redis server.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'

/**
 * Downloads and unpacks the packages `names`, and their dependencies that match `alsoNeeded` and are not installed. The
 * folder appears only when it is complete. Throws an Error with one line that says what failed, or the reason of the signal.
 */
export async function unpackDebianPackages({ names, alsoNeeded, folder, signal }) {
  const run = runner(signal)
  if (process.platform !== 'linux' || !(await isThere(run, 'apt-get')) || !(await isThere(run, 'dpkg-deb'))) {
    throw new Error('apt-get or dpkg-deb is not available on this system')
  }
  const isReplacing = existsSync(folder)
  const staging = `${folder}.new-${process.pid}`
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(path.join(staging, 'packages'), { recursive: true })
  try {
    await download(run, names, alsoNeeded, staging)
    const unpacked = path.join(staging, 'unpacked')
    for (const file of readdirSync(path.join(staging, 'packages'))) {
      if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', path.join(staging, 'packages', file), unpacked])
    }
    if (isReplacing) rmSync(folder, { recursive: true, force: true })
    renameUnlessThere(unpacked, folder)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Another process may have unpacked the same packages in the meantime, and use them already. */
function renameUnlessThere(unpacked, folder) {
  try {
    renameSync(unpacked, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  }
}

/** The folders with shared libraries in an unpacked `folder`, as a value for LD_LIBRARY_PATH. */
export function libraryPath(folder) {
  const found = []
  for (const top of ['usr/lib', 'lib']) {
    const base = path.join(folder, top)
    if (!existsSync(base)) continue
    const below = readdirSync(base, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    for (const candidate of [base, ...below.map((entry) => path.join(base, entry.name))]) {
      if (readdirSync(candidate).some((name) => name.includes('.so'))) found.push(candidate)
    }
  }
  return found.join(':')
}

/** Downloads with the machine's own package lists; if they are missing or stale, with fresh, temporary lists. */
async function download(run, names, alsoNeeded, staging) {
  const common = ['-o', 'APT::Sandbox::User=', '-o', 'Acquire::http::Timeout=30', '-o', 'Acquire::Retries=1']
  try {
    return await downloadWith(run, common, names, alsoNeeded, staging)
  } catch {
    // The error of the second attempt says more.
  }
  const state = path.join(staging, 'state')
  const cache = path.join(staging, 'cache')
  mkdirSync(path.join(state, 'lists/partial'), { recursive: true })
  mkdirSync(path.join(cache, 'archives/partial'), { recursive: true })
  const own = [
    ...common,
    '-o',
    `Dir::State=${state}`,
    '-o',
    `Dir::Cache=${cache}`,
    '-o',
    'Debug::NoLocking=1',
  ]
  await run('apt-get', [...own, '-q', 'update'])
  await downloadWith(run, own, names, alsoNeeded, staging)
}

async function downloadWith(run, options, names, alsoNeeded, staging) {
  const status = await run('dpkg-query', ['-W', '-f', `\${db:Status-Abbrev}\${Package}\\n`])
  const installed = new Set(status.split('\n').map((line) => /^ii +(\S+)/.exec(line)?.[1]))
  const wanted = new Set(names)
  for (let level = names; level.length > 0; ) {
    const depended = dependencies(await run('apt-cache', [...options, 'depends', '--important', ...level]))
    level = depended.filter((name) => alsoNeeded.test(name) && !installed.has(name) && !wanted.has(name))
    for (const name of level) wanted.add(name)
  }
  await run('apt-get', [...options, '-q', 'download', ...wanted], path.join(staging, 'packages'))
}

/** The names in the output of `apt-cache depends`; only the first of alternatives ("|Depends: a", "Depends: b"). */
function dependencies(printed) {
  const found = []
  let isAlternative = false
  for (const line of printed.split('\n')) {
    const match = /^ ([ |])(?:Pre)?Depends: (\S+)/.exec(line)
    if (!match) continue
    if (!isAlternative) found.push(match[2])
    isAlternative = match[1] === '|'
  }
  return [...new Set(found)]
}

async function isThere(run, file) {
  return run(file, ['--version']).then(
    () => true,
    () => false,
  )
}

/**
 * Returns a function that runs a command and returns its output. If the command fails, it throws an Error with its last line
 * on stderr. Once the signal is aborted, it ends the command and throws the reason.
 */
const runner = (signal) => async (file, args, cwd) => {
  signal?.throwIfAborted()
  const child = spawn(file, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, LC_ALL: 'C' },
    signal,
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const status = await new Promise((resolve, reject) => {
    child.on('error', (error) => (signal?.aborted ? undefined : reject(error)))
    child.on('close', resolve)
  })
  signal?.throwIfAborted()
  if (status === 0) return output
  throw new Error(`${file} failed: ${lastLine(errors) || lastLine(output) || `exit status ${status}`}`)
}

function lastLine(text) {
  return text.trim().split('\n').at(-1)?.trim() ?? ''
}
