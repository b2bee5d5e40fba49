import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { temporaryFolder } from '@svc/shared/testing'
import { manifestFile, readManifest } from './manifest.ts'

const table = { name: 'segments', columns: ['id'], sha256: 'abc' }
const first = { createdAt: '2026-01-01', migrations: ['001'], tables: [table], files: 2, sizeBytes: 10 }
const homeFile = { path: 'secrets/admin-password', sizeBytes: 3, sha256: null }
const second = { ...first, format: 2, homeFiles: [homeFile] }

test('reads the manifests of both formats, and ignores unknown fields', (context) => {
  const folder = temporaryFolder(context)
  const read = (manifest: unknown) => {
    writeFileSync(manifestFile(folder), JSON.stringify(manifest))
    return readManifest(folder)
  }
  assert.deepEqual(read({ ...first, format: 1 }), { ...first, format: 1, homeFiles: null })
  assert.deepEqual(read({ ...second, later: true }), second)
  for (const damaged of [
    null,
    first,
    { ...first, format: 2 },
    { ...second, format: 3 },
    { ...second, homeFiles: [{ ...homeFile, path: '../other' }] },
    { ...second, tables: [{ ...table, name: '../segments' }] },
    { ...second, files: '2' },
  ])
    assert.throws(() => read(damaged), /backup\.json\] is damaged or was written by an incompatible version/)
})
