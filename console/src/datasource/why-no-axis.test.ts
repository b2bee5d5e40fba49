import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whyNoAxis } from './why-no-axis.ts'

const cases = [
  ['a segment of all time', { used: 1, unused: 0 }, 'onlyUnbounded'],
  [
    'a segment of all time, before unused segments are known',
    { used: 1, unused: undefined },
    'onlyUnbounded',
  ],
  ['unused segments', { used: 0, unused: 3 }, 'onlyUnused'],
  ['no used segments, before unused segments are known', { used: 0, unused: undefined }, 'unknown'],
  ['nothing', { used: 0, unused: 0 }, 'noData'],
] as const

for (const [name, counts, expected] of cases)
  test(`a datasource with ${name}: ${expected}`, () => assert.equal(whyNoAxis(counts), expected))
