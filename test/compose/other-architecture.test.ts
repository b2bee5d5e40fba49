// The images for a different architecture from that of this machine: they are built without emulation, and all their programs
// and libraries are for that architecture.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { runDocker } from './support/compose-cluster.ts'

const architecture = process.arch === 'arm64' ? 'amd64' : 'arm64'
/** The architectures of programs, as the field `e_machine` of the ELF format says. */
const machines = new Map([
  [62, 'amd64'],
  [183, 'arm64'],
])

interface FoundFile {
  readonly mode: number
  readonly uid: number
  /** Of programs and libraries; undefined for others. */
  readonly machine: number | undefined
}

/** Lists the files in the folders of an image. Runs in the build, without access to anything else. */
function listFiles(image: string): Record<string, FoundFile> {
  const { closeSync, existsSync, lstatSync, openSync, readdirSync, readSync } =
    process.getBuiltinModule('node:fs')
  const found: Record<string, FoundFile> = {}
  const visit = (file: string): void => {
    const { mode, uid } = lstatSync(image + file)
    const header = Buffer.alloc(20)
    if ((mode & 0o170000) === 0o100000) {
      const descriptor = openSync(image + file, 'r')
      readSync(descriptor, header)
      closeSync(descriptor)
    }
    const machine = header.toString('latin1', 0, 4) === '\u007fELF' ? header.readUInt16LE(18) : undefined
    found[file] = { mode: mode & 0o7777, uid, machine }
    if ((mode & 0o170000) === 0o040000) for (const name of readdirSync(image + file)) visit(`${file}/${name}`)
  }
  for (const folder of ['/app', '/usr/local', '/etc', '/var/lib'])
    if (existsSync(image + folder)) visit(folder)
  return found
}

const folder = newTestFolder()
let files: Record<'servers' | 'cluster', Record<string, FoundFile>>

before(async () => {
  const dockerfile = path.join(folder, 'Dockerfile')
  writeFileSync(dockerfile, withListing(withBaseImages(read('Dockerfile'), baseImagePrefix())))
  const output = `type=local,dest=${folder}/found`
  const options = ['--platform', `linux/${architecture}`, '--target', 'found', '--output', output]
  const { status, stderr } = await runDocker([
    'build',
    '--quiet',
    '--file',
    dockerfile,
    ...options,
    repositoryRoot,
  ])
  assert.equal(status, 0, stderr)
  files = JSON.parse(readFileSync(path.join(folder, 'found/found.json'), 'utf8')) as typeof files
})

after(() => removeTestFolder(folder))

for (const image of ['servers', 'cluster'] as const) {
  test(`all programs and libraries in the image ${image} are for the other architecture`, () => {
    const found = Object.entries(files[image]).flatMap(([file, { machine }]) =>
      machine === undefined ? [] : [[file, machines.get(machine)] as const],
    )
    assert.deepEqual(
      found.filter(([, machine]) => machine !== architecture),
      [],
    )
    const names = found.map(([file]) => path.basename(file))
    const expected = ['node', 'duckdb.node', 'libatomic.so.1', 'libgcc_s.so.1', 'libstdc++.so.6']
    for (const name of image === 'cluster' ? [...expected, 'postgres', 'initdb'] : expected)
      assert.ok(names.includes(name), `${name} is missing in [${names}]`)
  })
}

test('the image servers has the folders of volumes, with their owners', () => {
  const mode = (name: string) => files.servers[`/var/lib/svc/${name}`]!.mode.toString(8)
  const owner = (name: string) => files.servers[`/var/lib/svc/${name}`]!.uid
  assert.deepEqual([owner('secrets'), mode('secrets')], [1000, '700'])
  assert.deepEqual([owner('readers/redis'), mode('readers/redis')], [1000, '700'])
  assert.equal(owner('postgres'), 999)
  assert.ok('/etc/passwd' in files.servers)
})

/** The prefix of the names of base images for the other architecture; empty if Docker can pull the official ones. */
function baseImagePrefix(): string {
  const engine = path.join(repositoryRoot, 'test/compose/engine.sh')
  return execFileSync(engine, ['base-images', architecture], { encoding: 'utf8' }).trim()
}

/**
 * Adds the prefix to the base images of the stages for the platform of the image. Stages that run commands keep the
 * official names.
 */
function withBaseImages(dockerfile: string, prefix: string): string {
  return dockerfile.replace(/^FROM (?=(node|debian|valkey\/valkey):)/gm, `FROM ${prefix}`)
}

/** Adds a stage that only contains the list of the files in both images. */
function withListing(dockerfile: string): string {
  const script = `${listFiles}
    const found = { servers: listFiles('/servers'), cluster: listFiles('/cluster') }
    require('node:fs').writeFileSync('/found.json', JSON.stringify(found))`
  const mounts = ['servers', 'cluster'].map((stage) => `--mount=from=${stage},target=/${stage}`)
  return `${dockerfile}
FROM workspace AS listing
RUN ${mounts.join(' ')} ${JSON.stringify(['node', '--eval', script])}
FROM scratch AS found
COPY --from=listing /found.json /
`
}

function read(file: string): string {
  return readFileSync(path.join(repositoryRoot, file), 'utf8')
}
