import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { collectIdleGarbage, createIdleCollector } from './idle-collection.ts'

/** The measurements, in MiB, at which a collection is due; each collection leaves `kept`. */
function dueAt(measured: readonly number[], kept: number): number[] {
  const collector = createIdleCollector()
  return measured.filter((size) => {
    const isDue = collector.isDue(size * 1024 * 1024)
    if (isDue) collector.collected(kept * 1024 * 1024)
    return isDue
  })
}

test('collects the garbage of the start, and garbage after large requests, once the process is idle', () => {
  assert.deepEqual(dueAt([30, 45, 46, 150, 400, 401, 402], 30), [46, 401])
})

test('does not collect while the heap grows or has little garbage', () => {
  assert.deepEqual(dueAt([30, 36, 42, 48, 54, 60, 66], 30), [])
  assert.deepEqual(dueAt([30, 31, 33, 36, 37, 37, 37], 30), [31])
  assert.deepEqual(dueAt([400, 401, 430, 431, 450, 451, 499, 500], 400), [401, 500])
})

test('does not collect again what is in use', () => {
  assert.deepEqual(dueAt([30, 90, 91, 92, 93], 90), [91])
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
