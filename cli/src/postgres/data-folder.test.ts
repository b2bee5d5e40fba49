import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { openHome } from '../home/index.ts'
import { ensureDataFolder } from './data-folder.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-postgres-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Programs of Postgres that this script replaces. */
function binariesOf(script: string): string {
  const binaries = path.join(mkdtempSync(path.join(folder, 'package-')), 'native')
  mkdirSync(path.join(binaries, 'bin'), { recursive: true })
  writeFileSync(path.join(binaries, '../package.json'), '{"version":"0.0.0-test"}')
  for (const name of ['initdb', 'postgres'])
    writeFileSync(path.join(binaries, 'bin', name), script, { mode: 0o755 })
  return binaries
}

for (const [name, script, message] of [
  ['its system has no loader for it', '#!/nosuch/loader\n', /GNU C library is missing\. For example, Alpine/],
  [
    'it fails',
    '#!/bin/sh\necho no luck >&2; exit 3\n',
    /^Failed to create the Postgres data folder: no luck$/,
  ],
] as const)
  test(`says why Postgres cannot create its data folder: ${name}`, async () => {
    const home = openHome(mkdtempSync(path.join(folder, 'home-')))
    const runAs = { binaries: binariesOf(script), prefix: [], id: undefined }
    const { signal } = new AbortController()
    await assert.rejects(ensureDataFolder(home, runAs, 'password', signal), { message })
    assert.equal(existsSync(home.postgres), false)
    assert.equal(existsSync(`${home.postgres}.new`), false)
  })
