import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { invalidInput } from '@svc/domain/failure'
import { assertNoFailedImport, homeLayout, recordingFailure } from './index.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-failed-import-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('commands say why an import failed or that it has not finished, until an import succeeds', async () => {
  const home = homeLayout(path.join(folder, 'home'))
  const refusedFor = (reason: string): void =>
    assert.throws(() => assertNoFailedImport(home), {
      code: 'conflict',
      message: `There is no cluster in [${home.root}], because the last import into it failed. Import again, or create an empty cluster with ./svc reset --home ${home.root} and ./svc up --home ${home.root}. The reason:\n${reason}`,
    })
  assertNoFailedImport(home)
  const failing = recordingFailure(home, async () => {
    refusedFor('It did not finish. Its process was killed, or is still running.')
    throw invalidInput('No such cluster')
  })
  await assert.rejects(failing, { message: 'No such cluster' })
  refusedFor('No such cluster')
  await recordingFailure(home, async () => mkdirSync(home.root))
  assertNoFailedImport(home)
  assert.deepEqual(readdirSync(folder), ['home'])
  assert.ok(existsSync(home.root))
})
