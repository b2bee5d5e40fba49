import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { isGeneratedPassword } from '@svc/domain/access'
import { bundleOf } from '../bundles/index.ts'
import { identify } from '../processes/index.ts'
import {
  defaultHome,
  deleteHome,
  ensureSecret,
  homeArgument,
  homeLayout,
  lockHolder,
  lockHome,
  openHome,
  readRunFile,
  readSecret,
  secretFile,
  storageFailure,
  writeRunFile,
} from './index.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'svc-home-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a new home can be reopened and completely deleted', () => {
  const root = path.join(folder, 'deep/home')
  openHome(root)
  const home = openHome(root)
  ensureSecret(home, 'admin-password')
  deleteHome(home)
  assert.equal(existsSync(root), false)
})

test('deleting a home keeps files that do not belong to it', () => {
  const home = openHome(folder)
  writeFileSync(path.join(folder, 'notes.txt'), 'mine')
  deleteHome(home)
  assert.deepEqual(readdirSync(folder), ['notes.txt'])
})

const refused: { name: string; prepare: (root: string) => void; message: RegExp }[] = [
  {
    name: 'a file',
    prepare: (root) => writeFileSync(root, ''),
    message: /^Home \[.*home\] is a file, not a folder\. Select another home with --home\.$/,
  },
  {
    name: 'a folder below a file',
    prepare: (root) => {
      rmSync(path.dirname(root), { recursive: true })
      writeFileSync(path.dirname(root), '')
    },
    message: /^Failed to create the home \[.*home\]: ENOTDIR/,
  },
  {
    name: 'a folder with other files',
    prepare: (root) => {
      mkdirSync(root)
      writeFileSync(path.join(root, 'notes.txt'), '')
    },
    message: /is not empty and is not an svc home/,
  },
  {
    name: 'a folder whose entries have the names of ours',
    prepare: (root) => {
      mkdirSync(path.join(root, 'logs'), { recursive: true })
      mkdirSync(path.join(root, 'input'))
    },
    message: /is not empty and is not an svc home/,
  },
  {
    name: 'a home of another format',
    prepare: (root) => {
      openHome(root)
      writeFileSync(path.join(root, 'svc-home.json'), '{"format":2}')
    },
    message: /is damaged: \[svc-home.json\] has format \[2\], expected \[1\]/,
  },
  {
    name: 'a home with a damaged marker',
    prepare: (root) => {
      openHome(root)
      writeFileSync(path.join(root, 'svc-home.json'), '')
    },
    message: /has format \[unreadable\]/,
  },
  {
    name: 'a home with a file where a folder belongs',
    prepare: (root) => {
      const { cache } = openHome(root)
      rmSync(cache, { recursive: true })
      writeFileSync(cache, '')
    },
    message: /is damaged: \[.*cache\] is a file, expected a folder/,
  },
]

for (const { name, prepare, message } of refused) {
  test(`rejects ${name}`, () => {
    const parent = path.join(folder, 'parent')
    mkdirSync(parent)
    const root = path.join(parent, 'home')
    prepare(root)
    assert.throws(() => openHome(root), { name: 'Failure', message })
  })
}

test('completes a home that was only partially created', () => {
  writeFileSync(path.join(folder, 'svc-home.json.new'), '{')
  const home = openHome(folder)
  rmSync(home.pki, { recursive: true })
  openHome(folder)
  assert.ok(existsSync(home.marker) && existsSync(home.pki))
})

test('secrets are long, random, stored, and readable only by the owner', () => {
  const home = openHome(folder)
  const first = ensureSecret(home, 'admin-password')
  assert.match(first, /^[\w-]{32}$/)
  assert.ok(isGeneratedPassword(first))
  assert.equal(ensureSecret(home, 'admin-password'), first)
  assert.equal(readSecret(home, 'admin-password'), first)
  assert.notEqual(ensureSecret(home, 'redis-password'), first)
  assert.equal(statSync(secretFile(home, 'admin-password')).mode & 0o777, 0o600)
  assert.equal(statSync(home.secrets).mode & 0o777, 0o700)
})

test('replaces a secret that a full disk left empty', () => {
  const home = openHome(folder)
  writeFileSync(secretFile(home, 'admin-password'), '')
  assert.match(ensureSecret(home, 'admin-password'), /^[\w-]{32}$/)
})

test('a locked home names the process that uses it', () => {
  const home = openHome(folder)
  const unlock = lockHome(home)
  assert.equal(lockHolder(home)?.pid, process.pid)
  assert.throws(() => lockHome(home), {
    code: 'conflict',
    message: new RegExp(`already running in \\[.*\\] \\(process ${process.pid}\\)`),
  })
  unlock()
  assert.equal(lockHolder(home), undefined)
  lockHome(home)()
  assert.deepEqual(readdirSync(home.run), [])
})

for (const [name, holder] of [
  ['dead', JSON.stringify({ ...identify(process.pid, 'node'), startTime: 'long ago' })],
  ['damaged', '{'],
  ['foreign', '1'],
  ['empty', 'null'],
] as const) {
  test(`takes over a ${name} lock`, () => {
    const home = openHome(folder)
    writeFileSync(home.lockFile, holder)
    lockHome(home)()
    assert.deepEqual(readdirSync(home.run), [])
  })
}

test('reads the run file as it was written', () => {
  const home = openHome(folder)
  assert.equal(readRunFile(home), undefined)
  const supervisor = identify(process.pid, 'node')!
  const run = {
    profile: 'secure' as const,
    startedAt: 1,
    supervisor,
    routerUrl: 'https://127.0.0.1:9088',
    processes: [
      {
        instance: 'router',
        role: 'router',
        url: '',
        process: supervisor,
        state: 'running' as const,
        restarts: 0,
      },
      { instance: 'broker', role: 'broker', url: '', state: 'restarting' as const, restarts: 3 },
    ],
  }
  writeRunFile(home, run)
  assert.deepEqual(readRunFile(home), run)
})

for (const damaged of ['', '{"processes":[]', '[]', '{"supervisor":{"pid":"1"},"processes":[]}', 'null']) {
  test(`reports a damaged run file: ${JSON.stringify(damaged)}`, () => {
    const home = openHome(folder)
    writeFileSync(home.runFile, damaged)
    assert.throws(() => readRunFile(home), {
      code: 'conflict',
      message: /is damaged: run file \[.*cluster\.json\] is unreadable/,
    })
  })
}

test('file system errors say what to do', () => {
  const failure = (code: string) => storageFailure(Object.assign(new Error('the reason'), { code }), '/home')
  assert.match((failure('ENOSPC') as Error).message, /^No space left on the disk of \[\/home\]/)
  assert.match((failure('EROFS') as Error).message, /^Failed to write to the home \[\/home\]: the reason/)
  const other = new Error('a defect')
  assert.equal(storageFailure(other, '/home'), other)
})

test('all paths of a layout are absolute', () => {
  for (const entry of Object.values(homeLayout('x'))) assert.ok(path.isAbsolute(entry))
})

for (const [root, argument] of [
  [defaultHome, ''],
  ['/tmp/home-1', ' --home /tmp/home-1'],
  ["/tmp/ö space 'x", " --home '/tmp/ö space '\\''x'"],
] as const) {
  test(`a command for home [${root}] can be copied into a shell`, () => {
    assert.equal(homeArgument(root), argument)
  })
}

test('every suggested command can be copied into a shell, whatever the path of its home is', () => {
  const list = execFileSync(process.execPath, [bundleOf('svc'), 'dev', 'strings', '--json'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 25,
  })
  const texts = JSON.parse(list) as { readonly file: string; readonly text: string }[]
  assert.ok(texts.some(({ text }) => text.includes('./svc up')))
  // `homeArgument` quotes the path.
  assert.deepEqual(
    texts.filter(({ text }) => /--home \$\{/.test(text)),
    [],
  )
})
