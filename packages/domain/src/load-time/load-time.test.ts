import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  addMeasured,
  estimateLoadTime,
  type LoadRate,
  type LoadSums,
  type LoadTimeEstimate,
  type LoadTimeLimits,
  type MeasuredLoads,
  noLoads,
  rateOf,
  type TierLoads,
  timeOf,
} from './index.ts'

const second = 1000
const megabyte = 1_000_000
const sumsOf = (measured: readonly MeasuredLoads[]): LoadSums => measured.reduce(addMeasured, noLoads)

describe('the load rate of a server', () => {
  const same = Array.from({ length: 20 }, () => ({ ms: second, segments: 10, bytes: 100 * megabyte }))
  const cases: [name: string, measured: MeasuredLoads[], rate: LoadRate | undefined][] = [
    ['is unknown without measurements', [], undefined],
    [
      'is per byte for large segments of one size',
      same,
      { msPerSegment: 0, msPerByte: second / (100 * megabyte) },
    ],
    [
      'is per segment for small segments of one size',
      same.map((one) => ({ ...one, bytes: 10_000 })),
      { msPerSegment: 100, msPerByte: 0 },
    ],
    [
      'is per segment for segments without bytes',
      [{ ms: 100, segments: 5, bytes: 0 }],
      { msPerSegment: 20, msPerByte: 0 },
    ],
  ]
  for (const [name, measured, rate] of cases)
    it(name, () => assert.deepEqual(round(rateOf(sumsOf(measured))), round(rate)))

  it('has a part for each segment and a part for each byte if sizes differ', () => {
    const truth = { msPerSegment: 20, msPerByte: second / (200 * megabyte) }
    const measured = Array.from({ length: 40 }, (_, index) => {
      const segments = 5 + (index % 4)
      const bytes = segments * (1 + (index % 7)) * 10 * megabyte
      return { ms: timeOf(truth, segments, bytes), segments, bytes }
    })
    assert.deepEqual(round(rateOf(sumsOf(measured))), round(truth))
  })

  it('follows a server that became faster', () => {
    const slow = Array.from({ length: 60 }, () => ({ ms: 60 * second, segments: 60, bytes: 60 * megabyte }))
    const fast = slow.map((one) => ({ ...one, segments: 600, bytes: 600 * megabyte }))
    const rate = rateOf(sumsOf([...slow, ...fast]))!
    assert.ok(timeOf(rate, 1, megabyte) < 0.2 * second, JSON.stringify(rate))
  })

  function round(rate: LoadRate | undefined) {
    return rate && { msPerSegment: rate.msPerSegment.toFixed(6), msPerByte: rate.msPerByte.toFixed(12) }
  }
})

describe('an estimate', () => {
  const idle = {
    rate: { msPerSegment: 0, msPerByte: second / megabyte },
    maxSizeBytes: 1e12,
    usedSizeBytes: 0,
    queuedLoads: 0,
    queuedBytes: 0,
  }
  const servers = (count: number) => Array.from({ length: count }, () => idle)
  const limits: LoadTimeLimits = {
    periodMs: 10 * second,
    untilNextRunMs: 5 * second,
    maxLoadsPerServer: 1000,
    replicationThrottleLimit: 1000,
  }
  const cases: [
    name: string,
    loads: TierLoads,
    limits: Partial<LoadTimeLimits>,
    seconds: number | undefined,
    limitedBy?: string,
  ][] = [
    [
      'of nothing is 0',
      { servers: [], segments: 0, firstCopies: 0, furtherCopies: 0, bytes: 0 },
      {},
      0,
      'servers',
    ],
    [
      'without measurements is unknown',
      { servers: [{ ...idle, rate: undefined }], segments: 1, firstCopies: 1, furtherCopies: 0, bytes: 1 },
      {},
      undefined,
    ],
    [
      'divides loads among servers',
      { servers: servers(2), segments: 100, firstCopies: 100, furtherCopies: 0, bytes: 100 * megabyte },
      {},
      5 + 50,
      'servers',
    ],
    [
      'uses the mean of the tier for a server without measurements',
      {
        servers: [idle, { ...idle, rate: undefined }],
        segments: 100,
        firstCopies: 100,
        furtherCopies: 0,
        bytes: 100 * megabyte,
      },
      {},
      5 + 50,
      'servers',
    ],
    [
      'starts after the loads that are queued now',
      {
        servers: [{ ...idle, queuedLoads: 25, queuedBytes: 25 * megabyte }],
        segments: 10,
        firstCopies: 10,
        furtherCopies: 0,
        bytes: 10 * megabyte,
      },
      {},
      25 + 10,
      'servers',
    ],
    [
      'loads more on larger servers',
      {
        servers: [idle, { ...idle, maxSizeBytes: 4e12 }],
        segments: 100,
        firstCopies: 100,
        furtherCopies: 0,
        bytes: 100 * megabyte,
      },
      {},
      5 + 80,
      'servers',
    ],
    [
      'loads less on servers that already have more',
      {
        servers: [idle, { ...idle, usedSizeBytes: 40 * megabyte }],
        segments: 100,
        firstCopies: 100,
        furtherCopies: 0,
        bytes: 100 * megabyte,
      },
      {},
      5 + 70,
      'servers',
    ],
    [
      'loads at most one replica of a segment on a server',
      {
        servers: [idle, { ...idle, maxSizeBytes: 4e12 }],
        segments: 100,
        firstCopies: 100,
        furtherCopies: 100,
        bytes: 200 * megabyte,
      },
      {},
      5 + 100,
      'servers',
    ],
    [
      'starts with the next run',
      { servers: servers(2), segments: 100, firstCopies: 100, furtherCopies: 0, bytes: 100 * megabyte },
      { untilNextRunMs: second },
      1 + 50,
      'servers',
    ],
    [
      'waits for the next run if queues are full',
      { servers: servers(1), segments: 20, firstCopies: 20, furtherCopies: 0, bytes: 20 * megabyte },
      { maxLoadsPerServer: 5 },
      5 + 3 * 10 + 5,
      'maxSegmentsInNodeLoadingQueue',
    ],
    [
      'throttles additional replicas, but not the first of a segment',
      { servers: servers(2), segments: 4, firstCopies: 2, furtherCopies: 6, bytes: 8 * megabyte },
      { replicationThrottleLimit: 2 },
      5 + 2 * 10 + 1,
      'replicationThrottleLimit',
    ],
    [
      'throttles further replicas from the first run, although load queues are short',
      { servers: servers(2), segments: 12, firstCopies: 10, furtherCopies: 12, bytes: 22 * megabyte },
      { maxLoadsPerServer: 3, replicationThrottleLimit: 2 },
      5 + 5 * 10 + 1,
      'replicationThrottleLimit',
    ],
    [
      'extrapolates very many runs',
      {
        servers: servers(1),
        segments: 1_000_000,
        firstCopies: 1_000_000,
        furtherCopies: 0,
        bytes: 1_000_000 * megabyte,
      },
      { maxLoadsPerServer: 5 },
      2_000_000,
      'maxSegmentsInNodeLoadingQueue',
    ],
  ]
  function checkCurve({ durationMs, curve }: LoadTimeEstimate, { firstCopies, furtherCopies }: TierLoads) {
    const copies = firstCopies + furtherCopies
    if (copies === 0) return
    assert.ok(curve.length <= 25, String(curve.length))
    assert.deepEqual(curve.at(-1), { durationMs, loads: copies })
    assert.equal(curve[0]!.loads, 0)
    for (const [index, { durationMs: at, loads }] of curve.entries()) {
      const before = curve[index - 1] ?? { durationMs: 0, loads: 0 }
      assert.ok(at >= before.durationMs && loads >= before.loads - 0.001, JSON.stringify(curve))
    }
  }
  it('shows how many replicas are loaded over time', () => {
    const loads = {
      servers: servers(1),
      segments: 20,
      firstCopies: 20,
      furtherCopies: 0,
      bytes: 20 * megabyte,
    }
    const { curve } = estimateLoadTime(loads, { ...limits, maxLoadsPerServer: 5 })!
    const at = (seconds: number) => curve.find(({ durationMs }) => durationMs === seconds * second)?.loads
    assert.deepEqual([5, 15, 25, 35, 40].map(at), [0, 5, 10, 15, 20])
  })
  for (const [name, loads, changed, seconds, limitedBy] of cases) {
    it(name, () => {
      const estimate = estimateLoadTime(loads, { ...limits, ...changed })
      if (seconds === undefined) assert.equal(estimate, undefined)
      else {
        assert.ok(
          Math.abs(estimate!.durationMs / second - seconds) <= 0.001 * seconds,
          JSON.stringify(estimate),
        )
        assert.equal(estimate!.limitedBy, limitedBy)
        checkCurve(estimate!, loads)
      }
    })
  }
})
