import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { eternity, parseInterval } from '../time/index.ts'
import {
  dataSourceOfId,
  parseSegmentId,
  payloadOf,
  type SegmentPayload,
  segmentFromPayload,
  segmentId,
} from './index.ts'

const key = {
  dataSource: 'koalas',
  interval: parseInterval('2026-01-01/2026-02-01'),
  version: '2026-03-01T00:00:00.000Z',
  partitionNum: 0,
}
const id = 'koalas_2026-01-01T00:00:00.000Z_2026-02-01T00:00:00.000Z_2026-03-01T00:00:00.000Z'

test('the datasource is the part of the id before the first instant', () => {
  assert.equal(dataSourceOfId(id), 'koalas')
  assert.equal(dataSourceOfId(`a_b${id}_12`), 'a_bkoalas')
  assert.equal(dataSourceOfId('_-146136543-09-08T08:23:32.096Z_x'), '')
  assert.equal(dataSourceOfId('no id'), 'no id')
})

for (const dataSource of [
  'a_2026-01-01T00:00:00.000Z_b',
  'a_2026-01-01T00:00:00.000Z',
  id,
  `${id}_1`,
  '2026-01-01T00:00:00.000Z_2026-02-01T00:00:00.000Z_',
]) {
  for (const partitionNum of [0, 12]) {
    test(`[${dataSource}] is found in the id of its segment [${partitionNum}]`, () =>
      assert.equal(dataSourceOfId(segmentId({ ...key, dataSource, partitionNum })), dataSource))
  }
}

test('the id ends with the partition number unless that is 0', () => {
  assert.equal(segmentId(key), id)
  assert.equal(segmentId({ ...key, partitionNum: 12 }), `${id}_12`)
})

test('parses every id, whatever the name of the datasource', () => {
  const instant = fc.integer({ min: -1e13, max: 1e13 })
  const keys = fc.record(
    {
      dataSource: fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('a_b', id, `${id}_1`)),
      interval: fc.oneof(
        fc.tuple(instant, instant).map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) })),
        fc.constant(eternity),
      ),
      version: fc.constantFrom('2026-03-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z', 'v1', 'v_0', 'v_01'),
      partitionNum: fc.nat(),
    },
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(keys, (original) =>
      assert.deepEqual(parseSegmentId(original.dataSource, segmentId(original)), original),
    ),
  )
})

for (const trail of ['0', '01', '2147483648', '-1', 'x']) {
  test(`[${trail}] at the end of an id is not the number of a partition, so it belongs to the version`, () =>
    assert.deepEqual(parseSegmentId('koalas', `${id}_${trail}`), {
      ...key,
      version: `${key.version}_${trail}`,
    }))
}

for (const text of [
  '',
  'koalas',
  'koalas_',
  `wiki${id}`,
  'koalas_a_b_c',
  id.replace('.000Z', 'Z'),
  'koalas_2026-01-01_2026-02-01_v1',
]) {
  test(`[${text}] is not the id of a segment of koalas`, () =>
    assert.equal(parseSegmentId('koalas', text), undefined))
}

test('converts a payload to a segment and back to the same payload', () => {
  const payload: SegmentPayload = {
    dataSource: 'koalas',
    interval: '2026-01-01T00:00:00.000Z/2026-02-01T00:00:00.000Z',
    version: '2026-03-01T00:00:00.000Z',
    loadSpec: { type: 'local', path: 'koalas/1/0.parquet', checksum: 'sha256:00' },
    dimensions: 'channel,user',
    metrics: 'added',
    shardSpec: { type: 'numbered', partitionNum: 1, partitions: 2 },
    binaryVersion: 9,
    size: 2273,
    totalRows: 20,
    identifier: `${id}_1`,
  }
  const segment = segmentFromPayload(payload)
  assert.deepEqual(segment, {
    ...key,
    id: `${id}_1`,
    partitionNum: 1,
    partitions: 2,
    sizeBytes: 2273,
    totalRows: 20,
  })
  assert.equal(JSON.stringify(payloadOf(segment, payload)), JSON.stringify(payload))
})
