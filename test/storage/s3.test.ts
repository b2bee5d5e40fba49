// Deep storage and task logs in a real S3 server, which is killed in the middle of everything that uses it: nothing is
// lost, and everything continues once the server is back.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { pkiTools, trustStoreFile } from '@svc/cli/pki'
import { openStore, type StoreConfig } from '@svc/shared/deep-storage'
import { describeFileStore, freePort } from '@svc/shared/testing'
import { testClusterOnS3 } from '../support/s3-cases.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { startS3Proxy } from './s3-proxy.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const pki = { folder: path.join(folder, 'pki'), password: 'key-store-password', now: Date.now() }
mkdirSync(pki.folder)
const tools = await pkiTools()
await tools.initAuthority(pki)
await tools.issueStores(pki, 's3', { hosts: ['127.0.0.1'], types: ['pkcs12'], days: 2 })
const s3 = await startS3Proxy({
  folder,
  port: await freePort(),
  securePort: await freePort(),
  keyStore: { file: path.join(pki.folder, 's3.p12'), password: pki.password },
})
after(() => s3.kill())

let stores = 0
/** Returns a place in the bucket that no other store uses. */
const newPlace = (endpointUrl: string, caPath?: string): StoreConfig => ({
  type: 's3',
  bucket: s3.bucket,
  baseKey: `contract/${++stores}`,
  connection: {
    endpointUrl,
    region: 'us-east-1',
    accessKey: s3.accessKey,
    secretKey: s3.secretKey,
    isPathStyle: true,
    caPath,
    retryTimeoutMs: 20_000,
    idleTimeoutMs: 10_000,
  },
})

describeFileStore('s3proxy', async () => openStore('deep storage', newPlace(s3.url)))
describeFileStore('s3proxy with TLS', async () =>
  openStore('deep storage', newPlace(s3.secureUrl, trustStoreFile(pki.folder))),
)

test('a server with a certificate of an unknown authority is refused', async () => {
  const store = openStore('deep storage', newPlace(s3.secureUrl))
  await assert.rejects(store.find('x'), {
    code: 'unavailable',
    message: /^Failed to read deep storage .*: \w*(SELF_SIGNED|UNABLE)\w*$/,
  })
})

await testClusterOnS3(s3, folder)
