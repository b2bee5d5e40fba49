import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { after, it, mock } from 'node:test'
import { temporaryFolder, waitUntil } from '@svc/shared/testing'
import { createNewFolder } from './index.ts'

const folder = temporaryFolder({ after })
const place = path.join(folder, 'inventory')
const isForeign = (name: string) => name.startsWith('inventory.partial-1-0000000')
const partial = () =>
  readdirSync(folder).filter((name) => name.startsWith('inventory.partial-') && !isForeign(name))

it('removes the partial folder of a killed command, but not that of a running one', async () => {
  const program = `import { createNewFolder } from ${JSON.stringify(path.join(import.meta.dirname, 'index.ts'))}
await createNewFolder(${JSON.stringify(place)}, () => new Promise(() => setInterval(() => undefined, 60_000)))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' })
  const ended = once(child, 'exit')
  await waitUntil('the folder is being created', () => partial().length === 1)
  const [leftover] = partial() as [string]
  // These have other names, or other users can write to them: they must be kept.
  mkdirSync(`${place}.partial-1`)
  mkdirSync(`${place}.partial-1-00000000`)
  chmodSync(`${place}.partial-1-00000000`, 0o777)
  symlinkSync(folder, `${place}.partial-1-00000001`)
  const given: string[] = []
  const stderr = mock.method(process.stderr, 'write', () => true)
  const create = async () => {
    await assert.rejects(
      createNewFolder(
        place,
        async () => {
          throw new Error('canceled')
        },
        async (found) => given.push(found),
      ),
      /canceled/,
    )
  }
  await create()
  assert.deepEqual([given, partial().sort()], [[], ['inventory.partial-1', leftover].sort()])
  child.kill('SIGKILL')
  await ended
  await create()
  stderr.mock.restore()
  assert.deepEqual([given, partial()], [[path.join(folder, leftover)], ['inventory.partial-1']])
  assert.match(
    String(stderr.mock.calls[0]?.arguments[0]),
    /^svc: Removed \[.*inventory\.partial-\d+-[\da-f]{8}\]/,
  )
  assert.equal(existsSync(place), false)
  assert.equal(readdirSync(folder).filter(isForeign).length, 2)
})

it('keeps a folder that another process creates at the same time', async () => {
  const taken = path.join(folder, 'taken')
  const creation = createNewFolder(taken, async () => {
    mkdirSync(path.join(taken, 'of-another'), { recursive: true })
  })
  await assert.rejects(creation, /taken\] already exists\. Choose another folder/)
  assert.deepEqual(readdirSync(taken), ['of-another'])
})

it('fails where no folder can be created', async () => {
  await assert.rejects(
    createNewFolder('/proc/parent/folder', async () => undefined),
    {
      code: 'invalidInput',
      message: /^Failed to create \[\/proc\/parent\/folder\]: ENOENT.+\. Choose another folder\.$/,
    },
  )
})
