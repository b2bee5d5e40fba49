import assert from 'node:assert/strict'
import path from 'node:path'
import { after, test } from 'node:test'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { type PassedSeed, readPassedSeeds, recordPassedSeed, seedsToRun } from './passed-seeds.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const passed = (seed: number, seconds: number): PassedSeed => ({
  seed,
  seconds,
  commit: 'abc1234',
  without: [],
})

test('reads passed seeds as they were recorded', () => {
  const file = path.join(folder, 'passed.jsonl')
  assert.deepEqual(readPassedSeeds(file), [])
  recordPassedSeed(file, passed(1, 20))
  recordPassedSeed(file, passed(3, 60))
  assert.deepEqual(readPassedSeeds(file), [passed(1, 20), passed(3, 60)])
})

test('runs seeds again that have passed only a shorter run, or none', () => {
  const known = [passed(1, 20), passed(2, 10), passed(3, 60), passed(2, 15)]
  assert.deepEqual(seedsToRun([1, 2, 3, 4], 20, known), [2, 4])
  assert.deepEqual(seedsToRun([1, 2, 3, 4], 10, known), [4])
  assert.deepEqual(seedsToRun([1, 2], 20, []), [1, 2])
})
