import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { generatedPassword } from '@svc/domain/access'
import type { HomeLayout } from './layout.ts'
import { writeAtomically } from './run-file.ts'
import { storageFailure } from './storage-failure.ts'

/** The secrets of a home, one file each. */
export const secretNames = [
  'admin-password',
  'internal-client-password',
  'postgres-password',
  'redis-password',
  'key-store-password',
  'directory-password',
] as const

/** The name of a secret of a home. */
export type SecretName = (typeof secretNames)[number]

/** The file of a secret, readable only by its owner. */
export function secretFile(home: HomeLayout, name: SecretName): string {
  return path.join(home.secrets, name)
}

/** The stored secret; undefined if the home has none of this name. */
export function readSecret(home: HomeLayout, name: SecretName): string | undefined {
  try {
    return readFileSync(secretFile(home, name), 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw storageFailure(error, home.root)
  }
}

/** The stored secret; if there is none, a new generated one of 32 characters. */
export function ensureSecret(home: HomeLayout, name: SecretName): string {
  const known = readSecret(home, name)
  // A full disk leaves an empty file, which was never used as a secret.
  if (known) {
    chmodSync(secretFile(home, name), 0o600)
    return known
  }
  return writeSecret(home, name, generatedPassword(randomBytes(24).toString('base64url')))
}

/** Stores a secret, replacing the previous one, and returns it. */
export function writeSecret(home: HomeLayout, name: SecretName, secret: string): string {
  writeAtomically(secretFile(home, name), secret, 0o600)
  return secret
}
