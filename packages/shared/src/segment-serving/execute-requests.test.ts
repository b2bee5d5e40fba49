import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { payloadOf, segmentId } from '@svc/domain/segment'
import type { SegmentRequest } from '../redis/index.ts'
import { recordingLogger, testSettings } from '../testing/index.ts'
import { createRequestExecutor } from './execute-requests.ts'
import { KnownLeader } from './known-leader.ts'
import { ReportLog } from './report-log.ts'
import { ServedSegments } from './served-segments.ts'

function loadRequest(number: number): SegmentRequest {
  const key = {
    dataSource: 'wiki',
    interval: { start: number * 1000, end: number * 1000 + 1000 },
    version: '2026-01-01T00:00:00.000Z',
    partitionNum: 0,
  }
  const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
  const payload = payloadOf(segment, {
    loadSpec: { type: 'local', path: '', checksum: '' },
    dimensions: '',
    metrics: '',
  })
  return { action: 'load', id: segment.id, sizeBytes: 10, payload: JSON.stringify(payload) }
}

for (const [turbo, expected] of [
  [false, [2, 2, 2, 2, 2, 1]],
  [true, [4, 4, 4, 3, 2, 1]],
] as const) {
  test(`two loading threads run the six loads of two ${turbo ? 'turbo batches' : 'batches'} ${expected[0]} at a time`, async () => {
    const served = new ServedSegments()
    const running: (() => void)[] = []
    const cache = {
      load: () => new Promise<void>((resolve) => void running.push(resolve)),
      drop: async () => undefined,
    }
    const execute = createRequestExecutor(
      { served, cache, log: new ReportLog(served), leader: new KnownLeader(), onExecuted: () => undefined },
      {
        settings: testSettings('historical', { 'svc.segmentCache.numLoadingThreads': '2' }),
        logger: recordingLogger(),
        stopping: new AbortController().signal,
      },
    )
    const batches = [0, 3].map((first) => ({
      session: served.session,
      term: 5,
      sentAtMs: 1,
      server: 'historical',
      turbo,
      requests: [first, first + 1, first + 2].map(loadRequest),
    }))
    const executed = Promise.all(batches.map(execute))
    const atATime: number[] = []
    for (let step = 0; step < expected.length; step++) {
      await nextTurn()
      atATime.push(running.length)
      running.shift()?.()
    }
    await executed
    assert.deepEqual(atATime, expected)
    assert.equal(served.size, 6)
  })
}
