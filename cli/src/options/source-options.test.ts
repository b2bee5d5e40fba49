import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, it } from 'node:test'
import { temporaryFolder } from '@svc/shared/testing'
import { openSource } from './source-options.ts'

const folder = temporaryFolder({ after })
const { signal } = new AbortController()
const fileOf = (name: string, text: string): string => {
  writeFileSync(path.join(folder, name), text)
  return path.join(folder, name)
}
mkdirSync(path.join(folder, 'authorities'))

for (const [name, trust, reason] of [
  ['no certificate', fileOf('text', 'hello'), /it contains no certificate$/],
  [
    'a private key',
    fileOf('key', '-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n'),
    /it contains a private key$/,
  ],
  [
    'an invalid certificate',
    fileOf('broken', '-----BEGIN CERTIFICATE-----\nMC4=\n-----END CERTIFICATE-----\n'),
    /certificate \[1\] is unreadable$/,
  ],
  ['a folder', path.join(folder, 'authorities'), /it is a folder$/],
] as const) {
  it(`rejects --trust with ${name}`, async () => {
    await assert.rejects(openSource('https://127.0.0.1:1', { trust }, signal), (error: Error) => {
      assert.ok(error.message.startsWith(`Invalid value [${trust}] for [--trust]: expected a PEM file`))
      assert.match(error.message, reason)
      return true
    })
  })
}

for (const from of ['https://cluster.example/?token=secret', 'http://cluster.example#secret']) {
  it(`rejects --from ${from} without showing the query or fragment`, async () => {
    await assert.rejects(openSource(from, {}, signal), {
      code: 'invalidInput',
      message: `Invalid value [${from.split(/[?#]/)[0]}…] for [--from]: expected a URL without a query, such as https://cluster.example:9088`,
    })
  })
}

for (const [from, shown] of [
  ['ftp://cluster.example', 'ftp://cluster.example'],
  ['FTP://me:secret@cluster.example/x', 'FTP://…@cluster.example/x'],
] as const) {
  it(`rejects --from ${from}`, async () => {
    await assert.rejects(openSource(from, {}, signal), {
      code: 'invalidInput',
      message: `Invalid value [${shown}] for [--from]: expected an http or https URL, or a folder`,
    })
  })
}
