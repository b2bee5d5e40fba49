import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, renameSync } from 'node:fs'
import path from 'node:path'
import { type HomeLayout, homeLayout, secretFile } from '@svc/cli/home'
import { trustStoreFile } from '@svc/cli/pki'

// Creating a schema, keys and certificates takes half of the CPU time of a first start, so homes are copies of one that
// `./svc dev test` creates, with the schema. The first cluster with TLS adds its certificates.
const prepared = process.env.SVC_TEST_PREPARED_HOME

/** Creates a home that has not been used yet. */
export function placePreparedHome(root: string): void {
  if (prepared !== undefined) execFileSync('cp', ['-a', prepared, root])
}

/** Adds the certificates of a new cluster, if it has any, to the prepared home, unless there are some. */
export function storeCertificates(home: HomeLayout): void {
  if (prepared === undefined || !existsSync(trustStoreFile(home.pki))) return
  const staging = `${prepared}.certificates`
  try {
    mkdirSync(staging)
  } catch {
    // Another test file has stored some, or is storing them.
    return
  }
  const target = homeLayout(prepared)
  const name = 'key-store-password'
  cpSync(home.pki, path.join(staging, 'pki'), { recursive: true })
  renameSync(path.join(staging, 'pki'), target.pki)
  cpSync(secretFile(home, name), secretFile(target, name))
}
