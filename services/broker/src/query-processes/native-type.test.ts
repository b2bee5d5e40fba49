import assert from 'node:assert/strict'
import { it } from 'node:test'
import { nativeScalarType } from './index.ts'

for (const [sqlType, native] of [
  ['BOOLEAN', 'LONG'],
  ['UTINYINT', 'LONG'],
  ['INTEGER', 'LONG'],
  ['HUGEINT', 'LONG'],
  ['DATE', 'LONG'],
  ['TIMESTAMP', 'LONG'],
  ['TIMESTAMP_MS', 'LONG'],
  ['TIMESTAMP WITH TIME ZONE', 'LONG'],
  ['FLOAT', 'FLOAT'],
  ['DOUBLE', 'DOUBLE'],
  ['DECIMAL(18,3)', 'DOUBLE'],
  ['VARCHAR', 'STRING'],
  ['TIME', 'STRING'],
  ['TIMESTAMP[]', 'STRING'],
  ['DECIMAL(18,3)[]', 'STRING'],
] as const) {
  it(`maps ${sqlType} to ${native}`, () => assert.equal(nativeScalarType(sqlType), native))
}
