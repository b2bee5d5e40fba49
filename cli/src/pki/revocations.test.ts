import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { temporaryFolder } from '@svc/shared/testing'
import { ensureCertificates, ensureRevocations, pkiTools, revocationFile } from './index.ts'

const folder = temporaryFolder({ after })
const place = { folder, now: Date.now() }
const request = { ...place, instances: ['one'], hosts: () => ['127.0.0.1'], keyStorePassword: 'password' }

test('creates the revocation list once, keeps its entries, and re-signs it with a new authority', async () => {
  await ensureCertificates(request)
  await ensureRevocations(place)
  const read = () => readFileSync(revocationFile(folder), 'utf8')
  const empty = read()
  await ensureRevocations(place)
  assert.equal(read(), empty)
  await (await pkiTools()).revokeCertificate({ ...place, password: 'password' }, 'one')
  const one = read()
  assert.ok(one.length > empty.length)
  await ensureRevocations(place)
  assert.equal(read(), one)
  rmSync(path.join(folder, 'authority.key.pem'))
  await ensureCertificates(request)
  await ensureRevocations(place)
  assert.notEqual(read(), one)
  assert.ok(read().length > empty.length)
})
