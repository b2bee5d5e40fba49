import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { writeWhole } from '../home/index.ts'
import { DAY_MS, readAuthority, trustStoreFile } from './authority.ts'
import type { Authority, Revocation } from './issue.ts'

/** The list of certificates that the authority of a folder has revoked, PEM. */
export function revocationFile(folder: string): string {
  return path.join(folder, 'revoked.crl.pem')
}

const revocationsFile = (folder: string): string => path.join(folder, 'revoked.json')

/** What the authority of a folder has revoked. */
export function readRevocations(folder: string): Revocation[] {
  try {
    return JSON.parse(readFileSync(revocationsFile(folder), 'utf8')) as Revocation[]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Writes what the authority of a folder has revoked, and the list that says so at the time `now` (epoch milliseconds). */
export async function writeRevocations(
  { folder, now }: { readonly folder: string; readonly now: number },
  authority: Authority,
  revoked: readonly Revocation[],
): Promise<void> {
  // The library is loaded only now: most starts issue nothing.
  const { issueRevocationList } = await import('./issue.ts')
  writeWhole(revocationsFile(folder), `${JSON.stringify(revoked)}\n`, 0o644)
  const list = { revoked, from: now - DAY_MS, until: now + 3650 * DAY_MS }
  writeWhole(revocationFile(folder), issueRevocationList(authority, list), 0o644)
}

/** Makes the list of revoked certificates of a folder where there is none, or one of an authority before this one. */
export async function ensureRevocations(place: {
  readonly folder: string
  readonly now: number
}): Promise<void> {
  const isOfAuthority = writtenAt(revocationFile(place.folder)) >= writtenAt(trustStoreFile(place.folder))
  if (isOfAuthority) return
  const authority = readAuthority(place)
  if (authority) await writeRevocations(place, authority, readRevocations(place.folder))
}

/** When a file was written, in epoch milliseconds; before all times where it is not there. */
function writtenAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY
}
