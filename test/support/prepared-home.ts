import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { type HomeLayout, homeLayout, secretFile } from '@svc/cli/home'

// Creating keys and certificates takes a third of the processor time of a first start, so the clusters of all test files
// share them: the first one stores a copy of its certificates there.
const prepared = process.env.SVC_TEST_PREPARED_HOME

/** The parts of a home that its certificates need. */
const partsOf = (home: HomeLayout) => [home.marker, home.pki, secretFile(home, 'key-store-password')]

/** Fills a home that does not exist with certificates, if there are any yet. */
export function placePreparedHome(root: string): void {
  if (prepared !== undefined && existsSync(prepared)) cpSync(prepared, root, { recursive: true })
}

/** Stores the certificates of a new cluster, unless another test file has stored some. */
export function storePreparedHome(home: HomeLayout): void {
  if (prepared === undefined || existsSync(prepared) || !existsSync(home.pki)) return
  const staging = homeLayout(`${prepared}.new-${process.pid}`)
  const targets = partsOf(staging)
  for (const [index, part] of partsOf(home).entries()) {
    mkdirSync(path.dirname(targets[index]!), { recursive: true })
    cpSync(part, targets[index]!, { recursive: true })
  }
  try {
    renameSync(staging.root, prepared)
  } catch {
    // Another test file was faster.
    rmSync(staging.root, { recursive: true })
  }
}
