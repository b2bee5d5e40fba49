import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, it } from 'node:test'
import { temporaryFolder } from '@svc/shared/testing'
import { readNewPassword } from './new-password.ts'

it('rejects an empty file, and names it', async () => {
  const file = path.join(temporaryFolder({ after }), 'password')
  writeFileSync(file, '\n')
  await assert.rejects(readNewPassword(file), {
    message: `File [${file}] for [--new-password-file] is empty: expected a password`,
  })
})
