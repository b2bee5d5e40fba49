import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { writeAtomically } from '../home/index.ts'
import { dayMs, readAuthority, trustStoreFile } from './authority.ts'
import type { Authority, Revocation } from './issue.ts'

/** The revocation list of the authority of a folder, PEM. */
export function revocationFile(folder: string): string {
  return path.join(folder, 'revoked.crl.pem')
}

const revocationsFile = (folder: string): string => path.join(folder, 'revoked.json')

/** The certificates that the authority of a folder has revoked. */
export function readRevocations(folder: string): Revocation[] {
  try {
    return JSON.parse(readFileSync(revocationsFile(folder), 'utf8')) as Revocation[]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Writes the revoked certificates of an authority, and its revocation list as of `now` (epoch milliseconds). */
export async function writeRevocations(
  { folder, now }: { readonly folder: string; readonly now: number },
  authority: Authority,
  revoked: readonly Revocation[],
): Promise<void> {
  // Loaded here, because most starts do not issue anything.
  const { issueRevocationList } = await import('./issue.ts')
  writeAtomically(revocationsFile(folder), `${JSON.stringify(revoked)}\n`, 0o644)
  const list = { revoked, from: now - dayMs, until: now + 3650 * dayMs }
  writeAtomically(revocationFile(folder), issueRevocationList(authority, list), 0o644)
}

/** Creates the revocation list of a folder if it is missing or was signed by a previous authority. */
export async function ensureRevocations(place: {
  readonly folder: string
  readonly now: number
}): Promise<void> {
  const isOfAuthority = writtenAt(revocationFile(place.folder)) >= writtenAt(trustStoreFile(place.folder))
  if (isOfAuthority) return
  const authority = readAuthority(place)
  if (authority) await writeRevocations(place, authority, readRevocations(place.folder))
}

/** When a file was written, in epoch milliseconds; negative infinity if it does not exist. */
function writtenAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY
}
