import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { LoadSpec } from '@svc/domain/segment'
import { createLocalDeepStorage, isDamaged, segmentPath } from './index.ts'
import { temporaryFolder, withoutRights } from './test-folder.ts'

const sha256 = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

function bench() {
  const folder = temporaryFolder()
  const root = join(folder, 'storage')
  const here = join(folder, 'here')
  mkdirSync(here)
  const storage = createLocalDeepStorage({ rootDirectory: root })
  let files = 0
  return {
    folder,
    root,
    here,
    storage,
    push: async (path: string, bytes: Buffer): Promise<LoadSpec> => {
      const file = join(here, `in-${files++}`)
      writeFileSync(file, bytes)
      const { checksum } = await storage.push(file, path)
      return { type: 'local', path, checksum }
    },
    stored: () =>
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
        .sort(),
  }
}

describe('deep storage', () => {
  for (const size of [0, 1, 4096, 1 << 20, (1 << 20) + 1, 5_000_001]) {
    it(`returns a file of ${size} bytes unchanged`, async () => {
      const { storage, push, root, here } = bench()
      const bytes = randomBytes(size)
      const file = join(here, 'a')
      writeFileSync(file, bytes)
      assert.deepEqual(await storage.push(file, 'x/y/0.parquet'), {
        path: 'x/y/0.parquet',
        sizeBytes: size,
        checksum: sha256(bytes),
      })
      assert.ok(readFileSync(join(root, 'x/y/0.parquet')).equals(bytes))
      const loadSpec = await push('x/y/1.parquet', bytes)
      await storage.fetch(loadSpec, size, join(here, 'out'))
      assert.ok(readFileSync(join(here, 'out')).equals(bytes))
      assert.deepEqual(readdirSync(here).sort(), ['a', 'in-0', 'out'])
    })
  }

  it('replaces a file atomically', async () => {
    const { storage, push, here, stored } = bench()
    await push('x/0.parquet', Buffer.from('old'))
    const loadSpec = await push('x/0.parquet', Buffer.from('newer'))
    assert.deepEqual(stored(), ['x/0.parquet'])
    await storage.fetch(loadSpec, 5, join(here, 'out'))
    assert.equal(readFileSync(join(here, 'out'), 'utf8'), 'newer')
  })

  it('removes a file and the folders that this leaves empty, and nothing else', async () => {
    const { storage, push, root, stored } = bench()
    const one = await push('x/y/z/0.parquet', Buffer.from('1'))
    const two = await push('x/0.parquet', Buffer.from('2'))
    await storage.remove(one)
    assert.deepEqual(stored(), ['x/0.parquet'])
    assert.ok(!existsSync(join(root, 'x/y')))
    await storage.remove(one)
    await storage.remove(two)
    await storage.remove(two)
    assert.ok(!existsSync(join(root, 'x')))
    assert.ok(existsSync(root))
  })

  it('removes files written under a prefix in all intervals of a datasource, and nothing else', async () => {
    const { storage, push, root, folder, stored } = bench()
    const pushUnder = (dataSource: string, day: number, pathPrefix: string) => {
      const interval = { start: Date.UTC(2026, 0, day), end: Date.UTC(2026, 0, day + 1) }
      const path = segmentPath({ dataSource, interval, partition: 0, pathPrefix })
      return push(path, Buffer.from('1')).then(() => path)
    }
    const kept = [
      await pushUnder('a b', 2, 'task:1-10'),
      await pushUnder('a b', 2, 'task:1-3'),
      await pushUnder('other', 1, 'task:1-1'),
    ]
    for (const day of [1, 2]) await pushUnder('a b', day, 'task:1-1')
    await pushUnder('a b', 3, 'task:1-2')
    mkdirSync(join(folder, 'outside/task:1-1'), { recursive: true })
    symlinkSync(join(folder, 'outside'), join(root, 'a%20b/link'))
    await storage.removeWritten('a b', ['task:1-1', 'task:1-2'])
    await storage.removeWritten('a b', ['task:1-1'])
    await storage.removeWritten('unknown', ['task:1-1'])
    assert.deepEqual(stored(), kept.sort())
    assert.deepEqual(readdirSync(join(root, 'a%20b')).length, 2)
    assert.deepEqual(readdirSync(join(folder, 'outside')), ['task:1-1'])
  })

  it('survives concurrent pushes and removals in the same folder', async () => {
    const { storage, push, stored } = bench()
    const specs = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const loadSpec = await push(`x/y/${index}.parquet`, Buffer.from(`${index}`))
        if (index % 2 === 0) await storage.remove(loadSpec)
        return loadSpec
      }),
    )
    assert.equal(stored().length, 20)
    await Promise.all(specs.map((loadSpec) => storage.remove(loadSpec)))
    assert.deepEqual(stored(), [])
  })

  it('removes old files of a killed writer and keeps recent ones', async () => {
    const { root, push } = bench()
    await push('x/0.parquet', Buffer.from('1'))
    const incoming = join(root, '.incoming')
    assert.deepEqual(readdirSync(incoming), [])
    writeFileSync(join(incoming, 'old'), 'torn')
    writeFileSync(join(incoming, 'young'), 'torn')
    utimesSync(join(incoming, 'old'), 1, 1)
    const other = createLocalDeepStorage({ rootDirectory: root })
    await other.push(join(incoming, 'young'), 'x/1.parquet')
    assert.deepEqual(readdirSync(incoming), ['young'])
  })

  it('fails to push a file that does not exist', async () => {
    const { storage, here, stored, push } = bench()
    await push('x/0.parquet', Buffer.from('1'))
    await assert.rejects(storage.push(join(here, 'none'), 'x/1.parquet'), {
      code: 'unavailable',
      message: `Failed to read file [${join(here, 'none')}]: ENOENT`,
    })
    assert.deepEqual(stored(), ['x/0.parquet'])
  })

  describe('rejects a path outside of it', () => {
    const paths = [
      '../x',
      'x/../../y',
      '/etc/passwd',
      '',
      '.',
      '..',
      'x//y',
      'x/',
      './x',
      'x/./y',
      'x\0y',
      'x\\..\\y',
      '.incoming/x',
    ]
    for (const path of paths) {
      it(JSON.stringify(path), async () => {
        const { storage, here, folder } = bench()
        const file = join(here, 'a')
        writeFileSync(file, '1')
        const loadSpec: LoadSpec = { type: 'local', path, checksum: sha256(Buffer.from('1')) }
        const refused = {
          code: 'invalidInput',
          message: /^Invalid value \[.*\] for \[loadSpec\.path\]: expected /s,
        }
        await assert.rejects(storage.push(file, path), refused)
        await assert.rejects(storage.fetch(loadSpec, 1, join(here, 'out')), refused)
        await assert.rejects(storage.remove(loadSpec), refused)
        assert.deepEqual(readdirSync(folder), ['here'])
      })
    }

    it('through a symbolic link', async () => {
      const { storage, push, root, here, folder } = bench()
      const inside = await push('x/0.parquet', Buffer.from('1'))
      mkdirSync(join(folder, 'outside'))
      writeFileSync(join(folder, 'outside', 'secret'), '1')
      symlinkSync(join(folder, 'outside'), join(root, 'folder'))
      symlinkSync(join(folder, 'outside', 'secret'), join(root, 'file'))
      const refused = { code: 'invalidInput' }
      for (const path of ['folder/secret', 'file']) {
        await assert.rejects(storage.fetch({ ...inside, path }, 1, join(here, 'out')), refused)
      }
      await assert.rejects(storage.push(join(here, 'in-0'), 'folder/new'), refused)
      await assert.rejects(storage.remove({ ...inside, path: 'folder/secret' }), refused)
      assert.deepEqual(readdirSync(join(folder, 'outside')), ['secret'])
      await assert.rejects(storage.fetch({ ...inside, path: 'x' }, 1, join(here, 'out')), refused)
    })

    it('or a named pipe, without waiting for its writer', async () => {
      const { storage, push, root, here } = bench()
      const inside = await push('x/0.parquet', Buffer.from('1'))
      execFileSync('mkfifo', [join(root, 'pipe')])
      await assert.rejects(storage.fetch({ ...inside, path: 'pipe' }, 1, join(here, 'out')), {
        code: 'invalidInput',
      })
    })
  })

  describe('reports a problem', () => {
    const bytes = randomBytes(3000)

    it('with a damaged file', async () => {
      const { storage, push, root, here } = bench()
      const loadSpec = await push('x/0.parquet', bytes)
      const flipped = Buffer.from(bytes)
      flipped[1500] = (flipped[1500] as number) ^ 1
      const cases = [
        {
          name: 'one bit',
          now: flipped,
          message: /expected checksum \[sha256:.*\] but found \[sha256:.*\]$/,
        },
        {
          name: 'shorter',
          now: bytes.subarray(1),
          message: /expected \[3000\] bytes but found \[2999\]$/,
        },
        {
          name: 'longer',
          now: Buffer.concat([bytes, bytes]),
          message: /expected \[3000\] bytes but found more$/,
        },
        { name: 'empty', now: Buffer.alloc(0), message: /expected \[3000\] bytes but found \[0\]$/ },
      ]
      for (const { now, message } of cases) {
        writeFileSync(join(root, 'x/0.parquet'), now)
        await assert.rejects(storage.fetch(loadSpec, 3000, join(here, 'out')), (error: Error) => {
          assert.ok(isDamaged(error))
          assert.match(error.message, /^File \[x\/0\.parquet\] is damaged: /)
          assert.match(error.message, message)
          return true
        })
        assert.deepEqual(readdirSync(here), ['in-0'])
      }
    })

    it('with a missing file', async () => {
      const { storage, push, root, here } = bench()
      const loadSpec = await push('x/0.parquet', bytes)
      for (const path of ['x/1.parquet', 'y/0.parquet', 'x/0.parquet/0.parquet']) {
        await assert.rejects(storage.fetch({ ...loadSpec, path }, 3000, join(here, 'out')), {
          code: 'notFound',
          message: `File [${path}] is not in deep storage [${root}]`,
        })
      }
    })

    it('with unavailable storage', async () => {
      const { storage, push, root, here } = bench()
      const loadSpec = await push('x/0.parquet', bytes)
      renameSync(root, `${root}-away`)
      const unavailable = { code: 'unavailable', message: `Failed to read deep storage [${root}]: ENOENT` }
      await assert.rejects(storage.fetch(loadSpec, 3000, join(here, 'out')), unavailable)
      await assert.rejects(storage.remove(loadSpec), { code: 'unavailable' })
      writeFileSync(root, '')
      await assert.rejects(storage.fetch(loadSpec, 3000, join(here, 'out')), { code: 'unavailable' })
      assert.deepEqual(readdirSync(here), ['in-0'])
    })

    it('with storage that it has no permission to read', async () => {
      const { storage, push, root, here, folder } = bench()
      const loadSpec = await push('x/0.parquet', bytes)
      chmodSync(folder, 0o755)
      chmodSync(here, 0o777)
      chmodSync(root, 0)
      const done = await withoutRights(() =>
        assert.rejects(storage.fetch(loadSpec, 3000, join(here, 'out')), {
          code: 'unavailable',
          message: `Failed to read deep storage [${root}]: EACCES`,
        }),
      )
      chmodSync(root, 0o755)
      assert.ok(done, 'this system has no users')
      await storage.fetch(loadSpec, 3000, join(here, 'out'))
    })

    it('with the destination', async () => {
      const { storage, push, here } = bench()
      const loadSpec = await push('x/0.parquet', bytes)
      await assert.rejects(storage.fetch(loadSpec, 3000, join(here, 'none', 'out')), {
        code: 'unavailable',
        message: `Failed to write file [${join(here, 'none', 'out')}]: ENOENT`,
      })
    })

    it('with the reason of an aborted signal', async () => {
      const { storage, push, here } = bench()
      const loadSpec = await push('x/0.parquet', randomBytes(20_000_000))
      const reason = new Error('enough')
      await assert.rejects(
        storage.fetch(loadSpec, 20_000_000, join(here, 'out'), AbortSignal.abort(reason)),
        reason,
      )
      const stop = new AbortController()
      const under = storage.fetch(loadSpec, 20_000_000, join(here, 'out'), stop.signal)
      // Now the first blocks are being copied.
      while (readdirSync(here).length < 2) await new Promise((resolve) => setImmediate(resolve))
      stop.abort(reason)
      await assert.rejects(under, reason)
      assert.deepEqual(readdirSync(here), ['in-0'])
    })
  })
})
