import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { takeFiles } from './index.ts'

/** Encodes files as a response does; undefined stands for a segment that is not served. */
function framed(files: readonly (Uint8Array | undefined)[]): Buffer {
  return Buffer.concat(
    files.map((file) => {
      const head = Buffer.alloc(8)
      head.writeBigUInt64BE(file === undefined ? 2n ** 64n - 1n : BigInt(file.length))
      return Buffer.concat([head, file ?? Buffer.alloc(0)])
    }),
  )
}

async function taken(chunks: readonly Buffer[], count: number): Promise<(Buffer | undefined)[]> {
  const files: (Buffer | undefined)[] = []
  let parts: Buffer[] = []
  async function* body() {
    yield* chunks
  }
  await takeFiles(body(), count, {
    begin: async (sizeBytes) => {
      parts = []
      if (sizeBytes === undefined) files.push(undefined)
    },
    take: async (chunk) => void parts.push(Buffer.from(chunk)),
    end: async () => void files.push(Buffer.concat(parts)),
  })
  return files
}

const files = fc.array(fc.option(fc.uint8Array({ maxLength: 40 }), { nil: undefined }), { maxLength: 12 })

describe('files of one response', () => {
  it('arrive unchanged, however the response is split into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(files, fc.integer({ min: 1, max: 50 }), async (given, length) => {
        const bytes = framed(given)
        const chunks = Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
          bytes.subarray(index * length, (index + 1) * length),
        )
        assert.deepEqual(
          await taken(chunks, given.length),
          given.map((file) => file && Buffer.from(file)),
        )
      }),
    )
  })

  it('fail if the response ends early', async () => {
    const bytes = framed([Buffer.from('one'), Buffer.from('two')])
    for (const length of [0, 5, 11, 12, bytes.length - 1]) {
      await assert.rejects(taken([bytes.subarray(0, length)], 2), {
        code: 'unavailable',
        message: /ended after/,
      })
    }
  })
})
