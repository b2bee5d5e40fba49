/**
 * Builds the npm package: the bundles of all programs with the files that they read, and the module for tests. Prints the
 * path of the tarball. Its argument is the folder for the tarball (default: .cache/package). The console is included if it
 * was built. Plain JavaScript that Node.js 22 runs directly.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { bundle, bundleModules, programsOfPackage, root } from './bundle.mjs'
import { noticesOf } from './notices.mjs'

/** What programs read at run time. In the package, these files have the same paths as in the checkout. */
const files = [
  'LICENSE',
  'data',
  'packages/shared/src/postgres/migrations',
  'packages/shared/src/openapi/openapi.json',
]
const builtConsole = 'console/dist'

const readJson = (file) => JSON.parse(readFileSync(path.join(root, file), 'utf8'))
const template = readJson('launcher/package/package.json')

/** Gives ES modules what the CommonJS module exports by name. */
const testingModule = `import testing from './testing.cjs'
export const { startCluster } = testing
`

/** Texts name the command and the default home of a checkout. */
const reword = (text) =>
  text
    .replaceAll('.svc next to ./svc', '.svc in the current folder')
    .replace(/\.\/svc\b(?!-)/g, `npx ${template.name}`)

/** Fills a folder with the package. */
async function createPackage(folder) {
  const dist = path.join(folder, 'dist')
  const options = { place: path.join(root, 'dist'), reword }
  const programs = await bundle(dist, programsOfPackage, options)
  const modules = await bundleModules(dist, { testing: 'cli/src/npm-package/testing.ts' }, options)
  for (const file of files) cpSync(path.join(root, file), path.join(folder, file), { recursive: true })
  const hasConsole = existsSync(path.join(root, builtConsole))
  if (hasConsole) cpSync(path.join(root, builtConsole), path.join(folder, builtConsole), { recursive: true })
  for (const extension of ['mts', 'cts'])
    cpSync(path.join(root, 'cli/src/npm-package/testing-types.ts'), path.join(dist, `testing.d.${extension}`))
  writeFileSync(path.join(dist, 'testing.mjs'), testingModule)
  cpSync(path.join(root, 'launcher/package/README.md'), path.join(folder, 'README.md'))
  const inputs = [programs, modules].flatMap(({ inputs }) => Object.keys(inputs))
  writeFileSync(path.join(folder, 'THIRD-PARTY-NOTICES.txt'), noticesOf(inputs, hasConsole))
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifestOf(programs), null, 2)}\n`)
}

/** Its dependencies are those of this checkout that the bundles import, and Postgres. */
function manifestOf({ outputs }) {
  const { version, license, dependencies, optionalDependencies } = readJson('package.json')
  const imported = new Set(
    Object.values(outputs).flatMap(({ imports }) => imports.map(({ path: name }) => name)),
  )
  return {
    ...template,
    version,
    license,
    ...repository(),
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(([name]) => imported.has(name))),
    optionalDependencies,
  }
}

/** The repository that publishes the package, which its provenance must name. */
function repository() {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env
  return server && name ? { repository: { type: 'git', url: `git+${server}/${name}.git` } } : {}
}

/** Creates the tarball; returns its path. */
async function pack(target) {
  const folder = path.join(target, `${template.name}.new-${process.pid}`)
  try {
    await createPackage(folder)
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', target]
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    return path.join(target, `${template.name}-${version}.tgz`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  const target = path.resolve(process.argv[2] ?? path.join(root, '.cache/package'))
  mkdirSync(target, { recursive: true })
  process.stdout.write(`${await pack(target)}\n`)
} catch (error) {
  process.stderr.write(`svc: Failed to create the package: ${error.message}\n`)
  process.exit(1)
}
