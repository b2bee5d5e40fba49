import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TierMove } from '@svc/domain/preview'
import { moveArrows } from './move-arrows.ts'

const width = 1000
const arrowsOf = (...moves: readonly Partial<TierMove>[]) =>
  moveArrows(
    moves.map((move) => ({
      from: 'cold',
      to: 'hot',
      interval: { start: 0, end: 100 },
      segments: 2,
      copies: 2,
      bytes: 4e9,
      ...move,
    })),
    (instant) => instant,
    width,
  )
const places = ({ arrows }: ReturnType<typeof arrowsOf>) =>
  arrows.map(({ left, right, row, labelIsLeft }) => [left, right, row, labelIsLeft ? 'left' : 'right'])

test('says from which tier to which, and how much', () => {
  assert.equal(arrowsOf({}).arrows[0]!.label, 'cold → hot: 2 replicas, 4.0 GB')
  assert.equal(arrowsOf({ to: undefined, copies: 1 }).arrows[0]!.label, 'cold → dropped: 1 replica, 4.0 GB')
  assert.equal(arrowsOf({ from: undefined }).arrows[0]!.label, 'new → hot: 2 replicas, 4.0 GB')
})

test('marks the time of the data that moves, and keeps labels on the axis', () => {
  assert.deepEqual(places(arrowsOf({})), [[0, 100, 0, 'right']])
  assert.deepEqual(places(arrowsOf({ interval: { start: 900, end: 1000 } })), [[900, 1000, 0, 'left']])
  assert.deepEqual(places(arrowsOf({ interval: { start: -Infinity, end: Infinity } })), [
    [0, width, 0, 'right'],
  ])
  // A minute of a year would be invisible.
  assert.deepEqual(places(arrowsOf({ interval: { start: 999.9, end: 1000 } })), [[994, 1000, 0, 'left']])
})

test('shortens labels that have too little space on both sides', () => {
  const from = 'x'.repeat(200)
  for (const start of [0, 400, 900]) {
    const [arrow] = arrowsOf({ from, interval: { start, end: start + 100 } }).arrows
    assert.match(arrow!.shownLabel, /^x+…$/)
    const labelWidth = 6.3 * arrow!.shownLabel.length + 9
    const end = arrow!.labelIsLeft ? arrow!.middle - labelWidth : arrow!.middle + labelWidth
    assert.ok(end >= 0 && end <= width, `${end} pixels`)
    assert.ok(arrow!.label.startsWith(`${from} → hot`))
  }
})

test('leaves out moves outside the shown part of the time', () => {
  const { arrows, hidden } = arrowsOf(
    { interval: { start: -50, end: -10 } },
    { interval: { start: 2000, end: 3000 } },
  )
  assert.deepEqual([arrows.length, hidden], [0, 0])
})

test('puts arrows that would overlap in different rows, the largest first, and counts those without room', () => {
  const same = Array.from({ length: 5 }, (_, index) => ({ bytes: (index + 1) * 1e9 }))
  const { arrows, rows, hidden } = arrowsOf(...same)
  assert.deepEqual(
    arrows.map(({ move, row }) => [move.bytes, row]),
    [
      [5e9, 0],
      [4e9, 1],
      [3e9, 2],
    ],
  )
  assert.deepEqual([rows, hidden], [3, 2])
  assert.equal(arrowsOf({}, { interval: { start: 600, end: 700 } }).rows, 1)
})
