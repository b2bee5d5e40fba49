import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { HomeLayout } from './layout.ts'
import { writeWhole } from './run-file.ts'
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

/** The file of a secret, readable for its owner only. */
export function secretFile(home: HomeLayout, name: SecretName): string {
  return path.join(home.secrets, name)
}

/** The secret as it stands; undefined when the home has none of this name. */
export function readSecret(home: HomeLayout, name: SecretName): string | undefined {
  try {
    return readFileSync(secretFile(home, name), 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw storageFailure(error, home.root)
  }
}

/** The secret as it stands or, at first, a new one of 32 random characters. */
export function ensureSecret(home: HomeLayout, name: SecretName): string {
  const known = readSecret(home, name)
  // An empty file is left by a disk that ran full; nothing was ever opened with it.
  if (known) {
    chmodSync(secretFile(home, name), 0o600)
    return known
  }
  return writeSecret(home, name, randomBytes(24).toString('base64url'))
}

/** Keeps a secret, in place of the one before; returns it. */
export function writeSecret(home: HomeLayout, name: SecretName, secret: string): string {
  writeWhole(secretFile(home, name), secret, 0o600)
  return secret
}
