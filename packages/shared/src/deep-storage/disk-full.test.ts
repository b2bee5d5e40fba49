import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { canMountSmallDisk, doorOf, runOnSmallDisk } from '../testing/index.ts'
import { temporaryFolder } from './test-folder.ts'

describe('a full disk', () => {
  const folder = temporaryFolder()
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  const skip = canMountSmallDisk(disk) ? false : 'this system cannot mount a disk for a test'
  const big = join(folder, 'big')
  writeFileSync(big, Buffer.alloc(3_000_000, 'x'))
  const describe = `(error) => ({ message: error.message, code: error.code, full: isDiskFull(error) })`

  it('fails a push and leaves no partial file', { skip }, async () => {
    const described = await runOnSmallDisk(
      disk,
      `import { readdirSync } from 'node:fs'
       import { createLocalDeepStorage, isDiskFull } from '${doorOf('deep-storage')}'
       const storage = createLocalDeepStorage({ rootDirectory: '${disk}' })
       const failure = await storage.push('${big}', 'x/0.parquet').then(() => 'none', ${describe})
       console.log(JSON.stringify({ failure, left: readdirSync('${disk}/.incoming') }))`,
    )
    assert.deepEqual(described, {
      failure: {
        message: `Failed to write to deep storage [${disk}]: no space left on the disk`,
        code: 'unavailable',
        full: true,
      },
      left: [],
    })
  })

  it('fails to load a segment, which then goes to the location on another disk', { skip }, async () => {
    const described = await runOnSmallDisk(
      disk,
      `import { readdirSync } from 'node:fs'
       import { createLocalDeepStorage, isDiskFull } from '${doorOf('deep-storage')}'
       import { openSegmentCache } from '${doorOf('segment-cache')}'
       const deepStorage = createLocalDeepStorage({ rootDirectory: '${folder}/storage' })
       const { path, checksum, sizeBytes } = await deepStorage.push('${big}', 'x/0.parquet')
       const payload = { identifier: 'x', size: sizeBytes, loadSpec: { type: 'local', path, checksum } }
       const logger = { error() {}, warn() {}, info() {}, debug() {} }
       const small = { path: '${disk}', maxSizeBytes: 20_000_000 }
       const open = (...locations) => openSegmentCache({ serverName: 'here', locations, deepStorage, logger })
       const alone = await open(small)
       const failure = await alone.load(payload).then(() => 'none', ${describe})
       const left = readdirSync('${disk}/loading')
       const both = await open(small, { path: '${folder}/roomy', maxSizeBytes: 10_000_000 })
       await both.load(payload)
       console.log(JSON.stringify({ failure, left, used: alone.usedSizeBytes, file: both.fileOf('x') }))`,
    )
    const { failure, ...rest } = described as { failure: { message: string; code: string; full: boolean } }
    assert.match(failure.message, /^Failed to write file \[.*\]: no space left on the disk$/)
    assert.deepEqual([failure.code, failure.full], ['unavailable', true])
    assert.deepEqual(rest, { left: [], used: 0, file: join(folder, 'roomy/segments/x/segment.parquet') })
  })
})
