import { readFileSync } from 'node:fs'
import type { HomeLayout } from '../home/index.ts'
import { trustStoreFile } from '../pki/index.ts'

/** The certificate to trust for the services of a home, PEM; undefined for a cluster without TLS. */
export function readTrusted(home: HomeLayout): string | undefined {
  try {
    return readFileSync(trustStoreFile(home.pki), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
