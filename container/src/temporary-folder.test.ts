import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { checkTemporaryFolder } from './temporary-folder.ts'

test('accepts a folder that is writable', () => checkTemporaryFolder(tmpdir()))

test('says how to mount a folder that is not writable', () => {
  assert.throws(() => checkTemporaryFolder('/tmp/missing'), {
    code: 'unavailable',
    message: /^Folder \[\/tmp\/missing\] is not writable: ENOENT.*--tmpfs \/tmp\/missing:mode=1777\.$/,
  })
})
