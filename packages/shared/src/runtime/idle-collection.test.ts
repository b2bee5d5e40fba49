import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { collectIdleGarbage, createIdleCollector, createIdleTrimmer } from './idle-collection.ts'
import { openMallocTrim } from './trim-malloc.ts'

/** The measurements, in MiB, at which a collection is due, and which one; each collection leaves `kept`. */
function dueAt(measured: readonly number[], kept: number, cpuMs = 10): [size: number, collection: string][] {
  const collector = createIdleCollector()
  return measured.flatMap((size, index): [number, string][] => {
    if (!collector.isDue(size * 1024 * 1024, index * cpuMs)) return []
    return [[size, collector.collected(kept * 1024 * 1024) ? 'last-resort' : 'regular']]
  })
}

test('collects the garbage of the start, and garbage after large requests, once the process is idle', () => {
  assert.deepEqual(dueAt([30, 45, 46, 150, 400, 401, 402], 30), [
    [46, 'last-resort'],
    [401, 'last-resort'],
  ])
})

test('does not collect while the heap grows or has little garbage', () => {
  assert.deepEqual(dueAt([30, 36, 42, 48, 54, 60, 66], 30), [])
  assert.deepEqual(dueAt([30, 31, 33, 36, 37, 37, 37], 30), [[31, 'last-resort']])
})

test('does not collect while the process works, even if V8 has collected in between', () => {
  const sizes = [400, 450, 420, 460, 410, 455]
  assert.deepEqual(dueAt(sizes, 400), [[420, 'regular']])
  assert.deepEqual(dueAt(sizes, 400, 2000), [])
})

test('does not visit a heap several times that has become large', () => {
  assert.deepEqual(dueAt([30, 31, 900, 901], 600), [
    [31, 'regular'],
    [901, 'regular'],
  ])
  assert.deepEqual(dueAt([30, 31, 900, 901], 60), [
    [31, 'last-resort'],
    [901, 'last-resort'],
  ])
})

test('does not collect again what is in use', () => {
  assert.deepEqual(dueAt([30, 58, 59, 60, 61], 58), [[59, 'last-resort']])
})

test('keeps the pauses of a large heap short: collects only if there is much garbage, and returns no memory', () => {
  assert.deepEqual(dueAt([400, 401, 430, 431, 450, 451, 499, 500], 400), [
    [401, 'regular'],
    [500, 'regular'],
  ])
})

test('collects the garbage of this process', async (context) => {
  mock.timers.enable({ apis: ['setInterval'] })
  context.after(() => mock.timers.reset())
  const { stop } = collectIdleGarbage()
  context.after(stop)
  const reference = new WeakRef({ some: 'garbage' })
  // The first measurement only shows the size of the heap, and an object may be referenced until the next turn.
  for (let time = 0; time < 3; time++) {
    mock.timers.tick(5000)
    await setImmediate()
  }
  assert.equal(reference.deref(), undefined)
})

/** The measurements, in MiB, at which malloc must return free memory; each time, `kept` is left at least. */
function trimmedAt(measured: readonly number[], kept: number): [period: number, size: number][] {
  const trimmer = createIdleTrimmer()
  return measured.flatMap((size, period): [number, number][] => {
    if (!trimmer.isDue(size * 1024 * 1024)) return []
    trimmer.trimmed(kept * 1024 * 1024)
    return [[period, size]]
  })
}

test('returns free memory once the process is idle, and again later if it was in use at first', () => {
  assert.deepEqual(trimmedAt([85, 85, 85, 85, 85, 150, 206, 206, 206, 206, 206, 206], 200), [
    [7, 206],
    [11, 206],
  ])
})

test('returns no memory while the process grows, nor if it has hardly grown', () => {
  assert.deepEqual(trimmedAt([85, 100, 110, 120, 130, 140], 85), [])
  assert.deepEqual(trimmedAt([85, 85, 85, 85, 100, 100, 100, 100], 85), [])
})

test('returns free memory of native code that is between pages in use', async (context) => {
  if (openMallocTrim() === undefined) return context.skip('This system cannot return it')
  mock.timers.enable({ apis: ['setInterval'] })
  context.after(() => mock.timers.reset())
  const { stop } = collectIdleGarbage()
  context.after(stop)
  const pass = async (periods: number): Promise<void> => {
    for (let period = 0; period < periods; period++) {
      mock.timers.tick(5000)
      await setImmediate()
    }
  }
  await pass(2)
  const buffers = Array.from({ length: 3000 }, () => Buffer.allocUnsafeSlow(32 * 1024).fill(1))
  const peak = process.memoryUsage.rss()
  for (const [index, { buffer }] of buffers.entries()) {
    // This frees the memory at once, without a collection.
    if (index % 100 !== 99) buffer.transfer(0)
  }
  await pass(10)
  const returned = Math.round((peak - process.memoryUsage.rss()) / 1024 / 1024)
  assert.ok(returned > 60, `${returned} of 94 MiB`)
  assert.equal(buffers.filter(({ length }) => length > 0).length, 30)
})
