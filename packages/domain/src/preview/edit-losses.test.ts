import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '../steps/index.ts'
import { dayMs } from '../time/index.ts'
import { decideRequest, editLossesOf, parsePreviewRequest } from './index.ts'
import { clusterOfDays, testNow, testServer } from './test-preview.ts'

const load = (days: number) => ({ type: 'loadByPeriod', period: `P${days}D`, tieredReplicants: { hot: 1 } })
const drop = { type: 'dropForever' }
// Ten daily segments, the newest first. All but the oldest are served.
const cluster = clusterOfDays(
  [testServer('hot-1', 'hot')],
  [],
  Array.from({ length: 10 }, (_, day) => (day < 9 ? [0] : [])),
)
const reader = { canRead: () => true, canReadTiers: true }

/** Returns how many segments an edit loses that the rules before it do not lose, and how many both lose. */
function lossesOf(rules: readonly object[], edited: readonly object[], daysAhead: number) {
  const outcomeOf = (list: readonly object[]) => {
    const request = finish(parsePreviewRequest({ rules: { wiki: list } }, testNow))
    const decided = finish(decideRequest({ ...request, now: testNow + daysAhead * dayMs }, cluster, reader))
    return decided.result.outcome
  }
  const { added, anyway } = finish(editLossesOf(outcomeOf(edited), outcomeOf(rules), 'wiki'))
  const countsOf = ({ unqueryable, unused }: typeof added) => [
    unqueryable.segments,
    unqueryable.queryableBefore,
    unused.segments,
  ]
  return { added: countsOf(added), anyway: countsOf(anyway) }
}

for (const { name, rules, edited, daysAhead, added, anyway } of [
  {
    name: 'a shorter period now',
    rules: [load(20), drop],
    edited: [load(6), drop],
    daysAhead: 0,
    added: [4, 3, 4],
    anyway: [0, 0, 0],
  },
  {
    name: 'a shorter period later, when the rules before it lose some of the segments, too',
    rules: [load(8), drop],
    edited: [load(6), drop],
    daysAhead: 3,
    added: [2, 2, 2],
    anyway: [5, 4, 5],
  },
  {
    name: 'a longer period, which loses less',
    rules: [load(4), drop],
    edited: [load(8), drop],
    daysAhead: 0,
    added: [0, 0, 0],
    anyway: [2, 1, 2],
  },
  {
    name: 'rules that lose other segments than before',
    rules: [load(5), drop],
    edited: [
      { type: 'dropByPeriod', period: 'P3D' },
      { type: 'loadForever', tieredReplicants: { hot: 1 } },
    ],
    daysAhead: 0,
    added: [3, 3, 3],
    anyway: [0, 0, 0],
  },
])
  test(`separates the losses of an edit from those of the rules before it: ${name}`, () => {
    assert.deepEqual(lossesOf(rules, edited, daysAhead), { added, anyway })
  })
