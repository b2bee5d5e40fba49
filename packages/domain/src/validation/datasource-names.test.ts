import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readDatasourceName, readRulesName } from './index.ts'

describe('a datasource name', () => {
  // The last column is what Druid 37 does when it ingests data under this name.
  const rows: readonly [
    name: string,
    accepted: boolean,
    acceptedForRules: boolean,
    acceptedByDruid: boolean,
  ][] = [
    ['wikipedia', true, true, true],
    ['a b', true, true, true],
    [' a', true, true, true],
    ['a ', true, true, true],
    ['a.', true, true, true],
    ['a..b', true, true, true],
    ['a\\b%c:d', true, true, true],
    ['é漢\u00a0\u200b', true, true, true],
    ['', false, false, false],
    ['.', false, false, false],
    ['..', false, false, false],
    ['.a', false, true, false],
    ['a/b', false, true, false],
    ['/', false, true, false],
    ['a/../b', false, false, false],
    ['a\tb', false, false, false],
    ['a\nb', false, false, false],
    ['a\u0001b', false, false, false],
    ['a\u0085b', false, false, false],
    ['\u{1f600}', false, true, false],
    ['\ue001', false, true, false],
    ['\ufffd', false, true, false],
    // Druid accepts these names, but a user cannot see them, or Postgres cannot store them.
    [' ', false, false, true],
    ['a\u0000', false, false, true],
    ['\ud800', false, false, true],
    ['x'.repeat(256), false, false, true],
  ]
  for (const [name, accepted, acceptedForRules] of rows) {
    it(`${accepted ? 'may' : 'may not'} be ${JSON.stringify(name.slice(0, 20))}`, () => {
      assert.equal(isAccepted(readDatasourceName, name), accepted)
      assert.equal(isAccepted(readRulesName, name), acceptedForRules)
    })
  }

  it('is accepted only if Druid 37 can ingest data under it', () => {
    assert.deepEqual(
      rows.filter(([, accepted, , acceptedByDruid]) => accepted && !acceptedByDruid),
      [],
    )
  })

  it('has at most 255 characters', () =>
    assert.equal(readDatasourceName('x'.repeat(255), 'dataSource'), 'x'.repeat(255)))

  it('must be a string', () =>
    assert.throws(
      () => readDatasourceName(7, 'dataSource'),
      /Invalid value \[7\] for \[dataSource\]: expected a non-blank name/,
    ))
})

function isAccepted(read: typeof readDatasourceName, name: string): boolean {
  try {
    return read(name, 'dataSource') === name
  } catch {
    return false
  }
}
