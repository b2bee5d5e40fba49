/**
 * Prepares a release. Plain JavaScript that Node.js 22 runs directly.
 *   release.mjs assets TAG FOLDER   writes the npm package, SHA256SUMS, and notes.md (the part of CHANGELOG.md about this
 *                                   version) to a folder; fails if files have a different version from the tag
 *   release.mjs dry-run             does the same for the current version in a temporary folder, and tries to publish it
 *                                   with --dry-run
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { root } from './bundle.mjs'

const read = (file) => readFileSync(path.join(root, file), 'utf8')

/** Where files name the version. */
const versions = [
  ['package.json', /"version": "([^"]+)"/],
  ['.env', /^SVC_VERSION=(.+)$/m],
  ['deploy/kubernetes/kustomization.yaml', /newTag: ([\d.]+\S*) /],
  ['deploy/swarm/stack.yml', /SVC_IMAGE:-[^:]+:([^}]+)\}/],
  ['docs/how-to/start-clusters-in-tests.md', /svc-cluster-(\d\S*)\.tgz/],
  ['clients/java/pom.xml', /<version>([^<]+)</],
  ['clients/java/README.md', /<version>([^<]+)</],
  ['clients/node/package.json', /"version": "([^"]+)"/],
  ['clients/node/package-lock.json', /"version": "([^"]+)"/],
]

/** Throws if a file names another version. */
function checkVersions(version) {
  for (const [file, pattern] of versions) {
    const found = pattern.exec(read(file))?.[1]
    if (found !== version) throw new Error(`${file} has version [${found}], expected [${version}]`)
  }
}

/** The part of CHANGELOG.md about a version. */
function notesOf(version) {
  const parts = read('CHANGELOG.md').split(/^## /m)
  const part = parts.find((each) => each.startsWith(`${version}\n`) || each.startsWith(`${version} `))
  const notes = part?.slice(part.indexOf('\n')).trim()
  if (!notes) throw new Error(`CHANGELOG.md has no entries for version [${version}]`)
  return `${notes}\n`
}

/** Creates the assets in a folder; returns the name of the package. */
function createAssets(version, folder) {
  checkVersions(version)
  const notes = notesOf(version)
  mkdirSync(folder, { recursive: true })
  const tarball = execFileSync(path.join(root, 'svc'), ['dev', 'pack', folder], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim()
  const checksum = createHash('sha256').update(readFileSync(tarball)).digest('hex')
  writeFileSync(path.join(folder, 'SHA256SUMS'), `${checksum}  ${path.basename(tarball)}\n`)
  writeFileSync(path.join(folder, 'notes.md'), notes)
  return path.basename(tarball)
}

/**
 * Publishes as .github/workflows/release.yml does, but with --dry-run and without a provenance, which needs GitHub. A dry run
 * needs no login, but the registry is asked whether the version exists.
 */
function tryPublishing(folder, tarball) {
  const args = [
    'publish',
    '--dry-run',
    '--access',
    'public',
    '--json',
    `./${path.basename(folder)}/${tarball}`,
  ]
  const output = execFileSync('npm', args, {
    cwd: path.dirname(folder),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // npm 11 reports by package; earlier versions report the package itself.
  const report = JSON.parse(output)
  const { name, version, entryCount, unpackedSize } = report.name ? report : Object.values(report)[0]
  if (!(entryCount > 0)) throw new Error(`npm publish --dry-run reports no files: ${output}`)
  return `${name}@${version}: ${entryCount} files, ${Math.round(unpackedSize / 2 ** 20)} MiB unpacked`
}

function dryRun() {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-release-'))
  try {
    const tarball = createAssets(JSON.parse(read('package.json')).version, folder)
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: folder, stdio: 'inherit' })
    process.stdout.write(`Ready to publish: ${tryPublishing(folder, tarball)}\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  const [task, tag, folder] = process.argv.slice(2)
  // Without a suffix: npm refuses to publish a version such as 1.2.3-rc.1 as the latest one.
  if (task === 'assets' && /^v\d+\.\d+\.\d+$/.test(tag) && folder)
    createAssets(tag.slice(1), path.resolve(folder))
  else if (task === 'dry-run') dryRun()
  else
    throw new Error(
      'Invalid arguments: expected [assets] with a tag such as [v1.2.3] and a folder, or [dry-run]',
    )
} catch (error) {
  process.stderr.write(`svc: ${error.message}\n`)
  process.exit(1)
}
