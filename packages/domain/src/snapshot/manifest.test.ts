import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manifestProblems, readSnapshotManifest } from './index.ts'

const files = { 'a.json': { sizeBytes: 3, sha256: 'one' }, 'b.json': { sizeBytes: 5, sha256: 'two' } }
const manifest = readSnapshotManifest(JSON.stringify({ format: 1, files }), 'snapshot.json')

test('a manifest finds files that are missing, truncated, changed, or not part of the snapshot', () => {
  const cases = [
    ['a.json', { sizeBytes: 3, sha256: 'one' }, []],
    ['a.json', { sizeBytes: 3 }, []],
    ['a.json', { sizeBytes: 2 }, ['[a.json] is [2] bytes long: expected [3]']],
    ['a.json', { sizeBytes: 3, sha256: 'two' }, ['[a.json] was changed']],
    ['b.json', { problem: 'it is missing' }, ['[b.json] is unreadable: it is missing']],
    ['c.json', { sizeBytes: 1 }, ['[c.json] is not part of the export']],
    ['c.json', { problem: 'it is missing' }, []],
    ['constructor', { problem: 'it is missing' }, []],
  ] as const
  for (const [name, found, expected] of cases)
    assert.deepEqual(manifestProblems(manifest, new Map([[name, found]])), expected, name)
})

test('a damaged manifest is refused', () => {
  for (const text of ['{"format":1,', '[]', '{"format":2,"files":{}}', '{"format":1,"files":{"a":{}}}'])
    assert.throws(() => readSnapshotManifest(text, 'snapshot.json'), /File \[snapshot\.json\] is damaged/)
})
