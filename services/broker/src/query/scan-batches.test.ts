import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { batchRows } from './scan-batches.ts'

/** Returns the number of rows in each batch. */
async function batchesOf(rowCount: number, batchSize: number, headSizeBytes: number): Promise<number[]> {
  async function* rows() {
    yield Buffer.from(Array.from({ length: rowCount }, (_, row) => `["file","${row}"]\n`).join(''))
  }
  const sizes: number[] = []
  const batchText = (_path: string, events: readonly string[]) => {
    sizes.push(events.length)
    return `[${events.join(',')}]`
  }
  let json = ''
  for await (const text of batchRows(rows(), { batchSize, headSizeBytes, fileColumn: undefined, batchText }))
    json += text
  const expected = Array.from({ length: rowCount }, (_, row) => [String(row)])
  assert.deepEqual(JSON.parse(json).flat(), expected)
  return sizes
}

describe('batches of a scan', () => {
  it('have the requested size', async () => {
    assert.deepEqual(await batchesOf(5, 2, 1000), [2, 2, 1])
    assert.deepEqual(await batchesOf(3, 1, 100_000), [1, 1, 1])
  })

  it('are larger if repeated columns would be most of a large response', async () => {
    const headSizeBytes = 2 * 2 ** 20
    const batches = await batchesOf(200, 1, headSizeBytes)
    assert.ok(batches.length <= 9, `${batches.length}`)
  })
})
