import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { type FileStore, isDamaged } from '../deep-storage/index.ts'
import { temporaryFolder } from './temporary.ts'

const checksumOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** Declares the tests that every store of files passes. `open` returns an empty store. */
export function describeFileStore(name: string, open: () => Promise<FileStore>): void {
  async function bench() {
    const folder = join(temporaryFolder({ after }), 'here')
    mkdirSync(folder)
    const store = await open()
    let files = 0
    return {
      store,
      folder,
      out: join(folder, 'out'),
      put: async (path: string, bytes: Buffer | string) => {
        const file = join(folder, `in-${files++}`)
        writeFileSync(file, bytes)
        return await store.put(file, path)
      },
      list: async (within = '') => {
        const found: string[] = []
        for await (const { path } of store.list(within)) found.push(path)
        return found.sort()
      },
    }
  }

  describe(`files in ${name}`, () => {
    for (const size of [0, 1, 5000, 8 << 20, 20_000_001]) {
      it(`are unchanged after a round trip (${size} bytes)`, async () => {
        const { store, put, folder, out } = await bench()
        const bytes = randomBytes(size)
        const stored = { sizeBytes: size, checksum: checksumOf(bytes) }
        assert.deepEqual(await put('x/y/0.parquet', bytes), { path: 'x/y/0.parquet', ...stored })
        assert.deepEqual(await store.get('x/y/0.parquet', out, { expected: stored }), stored)
        assert.ok(readFileSync(out).equals(bytes))
        assert.deepEqual(readdirSync(folder).sort(), ['in-0', 'out'])
      })
    }

    it('are replaced', async () => {
      const { store, put, out, list } = await bench()
      await put('x/0', 'old')
      await put('x/0', 'newer')
      assert.deepEqual(await list(), ['x/0'])
      await store.get('x/0', out)
      assert.equal(readFileSync(out, 'utf8'), 'newer')
    })

    it('have a size and a time, and can be read in part', async () => {
      const { store, put } = await bench()
      assert.equal(await store.find('x/0'), undefined)
      const before = Date.now()
      await put('x/0', '0123456789')
      const found = await store.find('x/0')
      assert.deepEqual([found?.path, found?.sizeBytes], ['x/0', 10])
      assert.ok(Math.abs((found?.modifiedAtMs ?? 0) - before) < 60_000, `${found?.modifiedAtMs}`)
      const part = async (start: number, end: number) =>
        (await buffer(await store.read('x/0', start, end))).toString()
      assert.deepEqual([await part(0, 10), await part(2, 4), await part(9, 10)], ['0123456789', '23', '9'])
      assert.equal(await store.find('x/1'), undefined)
      await assert.rejects(store.read('x/1', 0, 1), { code: 'notFound' })
    })

    it('are listed by folder, on several pages', async () => {
      const { put, list } = await bench()
      const paths = ['a', 'b/c', 'b/d/e', 'b/d/f', 'bc/g', 'h/i', 'h/j', 'k']
      for (const path of paths) await put(path, path)
      assert.deepEqual(await list(), paths)
      assert.deepEqual(await list('b'), ['b/c', 'b/d/e', 'b/d/f'])
      assert.deepEqual(await list('b/d'), ['b/d/e', 'b/d/f'])
      assert.deepEqual(await list('none'), [])
    })

    it('have names with any character', async () => {
      const { put, store, out, list } = await bench()
      const paths = ['a%20b/2026-01-01T00:00:00.000Z_x/t:1-1/0.parquet', 'Größe & <so>+=?#/@!$,;()*\'"~ é']
      for (const path of paths) {
        await put(path, path)
        await store.get(path, out)
        assert.equal(readFileSync(out, 'utf8'), path)
      }
      assert.deepEqual(await list(), [...paths].sort())
      for (const path of paths) await store.remove(path)
      assert.deepEqual(await list(), [])
    })

    it('are removed, again and again, and nothing else is', async () => {
      const { store, put, list } = await bench()
      for (const path of ['x/y/0', 'x/y/00', 'x/0']) await put(path, path)
      for (let times = 0; times < 2; times++) {
        await store.remove('x/y/0')
        assert.deepEqual(await list(), ['x/0', 'x/y/00'])
      }
      await store.remove('none/0')
    })

    it('are removed by the name of their subfolder', async () => {
      const { store, put, list } = await bench()
      const kept = ['a/1/t-10/0', 'a/1/t-3/0', 'a/2/x/t-1/0', 'a/t-1', 'ab/1/t-1/0', 'b/1/t-1/0']
      const removed = ['a/1/t-1/0', 'a/1/t-1/1', 'a/2/t-1/0', 'a/3/t-2/0', 'a/3/t-2/deeper/0']
      for (const path of [...kept, ...removed]) await put(path, path)
      await store.removeSubfolders('a', ['t-1', 't-2'])
      await store.removeSubfolders('none', ['t-1'])
      assert.deepEqual(await list(), kept)
    })

    it('are put and removed concurrently', async () => {
      const { store, put, list } = await bench()
      await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          await put(`x/y/${index}`, `${index}`)
          if (index % 2 === 0) await store.remove(`x/y/${index}`)
        }),
      )
      assert.equal((await list()).length, 10)
    })
  })

  describe(`${name} reports a problem`, () => {
    it('with a file that does not exist', async () => {
      const { store, put, folder, out } = await bench()
      await put('x/0', '1')
      for (const path of ['x/1', 'y/0']) {
        await assert.rejects(store.get(path, out), {
          code: 'notFound',
          message: `File [${path}] is not in deep storage [${store.location}]`,
        })
      }
      await assert.rejects(store.put(join(folder, 'none'), 'x/1'), {
        code: 'unavailable',
        message: `Failed to read file [${join(folder, 'none')}]: ENOENT`,
      })
    })

    it('with damaged bytes, and leaves no file', async () => {
      const { store, put, folder, out } = await bench()
      const bytes = randomBytes(3000)
      const stored = await put('x/0', bytes)
      for (const [expected, message] of [
        [{ ...stored, checksum: checksumOf(Buffer.from('x')) }, /expected checksum \[.*\] but found \[.*\]$/],
        [{ ...stored, sizeBytes: 3001 }, /expected \[3001\] bytes but found \[3000\]$/],
        [{ ...stored, sizeBytes: 2999 }, /expected \[2999\] bytes but found more$/],
      ] as const) {
        await assert.rejects(store.get('x/0', out, { expected }), (error: Error) => {
          assert.ok(isDamaged(error))
          assert.match(error.message, message)
          return true
        })
        assert.deepEqual(readdirSync(folder), ['in-0'])
      }
    })

    it('with paths outside of it', async () => {
      const { store, folder, out } = await bench()
      writeFileSync(join(folder, 'a'), '1')
      for (const path of ['../x', 'x/../../y', '/etc/passwd', '', '.', 'x//y', 'x/', 'x\0y', '.incoming/x']) {
        const refused = { code: 'invalidInput' }
        await assert.rejects(store.put(join(folder, 'a'), path), refused)
        await assert.rejects(store.get(path, out), refused)
        await assert.rejects(store.remove(path), refused)
      }
    })

    it('with the destination, and with an aborted signal', async () => {
      const { store, put, folder, out } = await bench()
      await put('x/0', randomBytes(20_000_000))
      await assert.rejects(store.get('x/0', join(folder, 'none', 'out')), {
        code: 'unavailable',
        message: `Failed to write file [${join(folder, 'none', 'out')}]: ENOENT`,
      })
      const reason = new Error('enough')
      await assert.rejects(store.get('x/0', out, { signal: AbortSignal.abort(reason) }), reason)
      const stop = new AbortController()
      const under = store.get('x/0', out, { signal: stop.signal })
      while (readdirSync(folder).length < 2) await new Promise((resolve) => setImmediate(resolve))
      stop.abort(reason)
      await assert.rejects(under, reason)
      assert.deepEqual(readdirSync(folder), ['in-0'])
    })
  })
}
