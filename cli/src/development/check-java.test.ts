import assert from 'node:assert/strict'
import { test } from 'node:test'
import { javaMajor } from './check-java.ts'

const versions: readonly [version: string, major: number][] = [
  ['javac 17.0.15', 17],
  ['javac 21', 21],
  ['javac 1.8.0_392', 8],
  ['javac', 0],
]
for (const [version, major] of versions) {
  test(`[${version}] is Java ${major}`, () => assert.equal(javaMajor(version), major))
}
