import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { after, it, mock } from 'node:test'
import { temporaryFolder, waitUntil } from '@svc/shared/testing'
import { makeNewFolder } from './index.ts'

const folder = temporaryFolder({ after })
const place = path.join(folder, 'inventory')
const isForeign = (name: string) => name.startsWith('inventory.partial-1-0000000')
const partial = () =>
  readdirSync(folder).filter((name) => name.startsWith('inventory.partial-') && !isForeign(name))

it('a folder that a killed command was making is removed by the next one, not that of one that runs', async () => {
  const program = `import { makeNewFolder } from ${JSON.stringify(path.join(import.meta.dirname, 'index.ts'))}
await makeNewFolder(${JSON.stringify(place)}, () => new Promise(() => setInterval(() => undefined, 60_000)))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' })
  const ended = once(child, 'exit')
  await waitUntil('it is being made', () => partial().length === 1)
  const [leftover] = partial() as [string]
  // Not of that form, or perhaps of somebody else: whoever made them may want them.
  mkdirSync(`${place}.partial-1`)
  mkdirSync(`${place}.partial-1-00000000`)
  chmodSync(`${place}.partial-1-00000000`, 0o777)
  symlinkSync(folder, `${place}.partial-1-00000001`)
  const given: string[] = []
  const told = mock.method(process.stderr, 'write', () => true)
  const make = async () => {
    await assert.rejects(
      makeNewFolder(
        place,
        async () => {
          throw new Error('given up')
        },
        async (found) => given.push(found),
      ),
      /given up/,
    )
  }
  await make()
  assert.deepEqual([given, partial().sort()], [[], ['inventory.partial-1', leftover].sort()])
  child.kill('SIGKILL')
  await ended
  await make()
  told.mock.restore()
  assert.deepEqual([given, partial()], [[path.join(folder, leftover)], ['inventory.partial-1']])
  assert.match(
    String(told.mock.calls[0]?.arguments[0]),
    /^svc: removed \[.*inventory\.partial-\d+-[\da-f]{8}\]/,
  )
  assert.equal(existsSync(place), false)
  assert.equal(readdirSync(folder).filter(isForeign).length, 2)
})

it('a place that is taken while it is made is left alone', async () => {
  const taken = path.join(folder, 'taken')
  const making = makeNewFolder(taken, async () => {
    mkdirSync(path.join(taken, 'of-another'), { recursive: true })
  })
  await assert.rejects(making, /taken\] exists already: name a new folder/)
  assert.deepEqual(readdirSync(taken), ['of-another'])
})
