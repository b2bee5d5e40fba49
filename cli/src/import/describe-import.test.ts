import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countsOf, differencesOf, type StoredImport } from './describe-import.ts'

const stored = (snapshot: object): StoredImport =>
  ({
    snapshot: {
      leftOut: 0,
      overshadowed: 0,
      saysOvershadowed: true,
      nowUnused: new Map(),
      documents: { unreadable: [], servers: [], rules: new Map() },
      ...snapshot,
    },
    segments: new Map(),
  }) as unknown as StoredImport

const overshadowedIn = (snapshot: object): string[] =>
  differencesOf(stored(snapshot))
    .filter(({ part }) => part === 'overshadowed segments')
    .map(({ difference }) => difference)

test('a report says whether it counts overshadowed segments, and how long they stay used', () => {
  assert.deepEqual(overshadowedIn({}), [])
  assert.deepEqual(overshadowedIn({ overshadowed: 3 }), [
    '3 will stay used for 900 s after each start of the rehearsal',
  ])
  // Such as segments that were saved without `includeOvershadowedStatus`.
  assert.deepEqual(overshadowedIn({ saysOvershadowed: false }), [
    'are not counted, and will stay used for 900 s after each start of the rehearsal, which finds them itself',
  ])
})

test('overshadowed segments that the source does not name have no count', () => {
  const countIn = (snapshot: object) => countsOf(stored(snapshot)).overshadowedSegments
  assert.equal(countIn({ overshadowed: 3 }), 3)
  assert.equal(countIn({ overshadowed: 3, saysOvershadowed: false }), null)
})
