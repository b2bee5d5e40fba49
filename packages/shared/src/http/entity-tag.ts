import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { conflict } from '@svc/domain/failure'

/** Returns the header that names the version of what a response shows. A change can require this version with `If-Match`. */
export const entityTag = (version: string | number): { readonly ETag: string } => ({ ETag: `"${version}"` })

/** Returns a version that changes with a text. */
export const versionOfText = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 22)

/** Checks the current version of what a request changes, in the transaction of the change. */
export type CheckVersion = (version: string | number) => void

/**
 * Returns the check of the version that a request requires with `If-Match`. It throws conflict if the current version
 * is a different one. `what` completes the message, such as `the rules of [flights]`.
 */
export function versionCheck({ headers }: Pick<IncomingMessage, 'headers'>, what: string): CheckVersion {
  const required = headers['if-match']
    ?.toString()
    .split(',')
    .map((tag) => tag.trim())
  return (version) => {
    if (required === undefined || required.includes('*') || required.includes(entityTag(version).ETag)) return
    throw conflict(`Another request has changed ${what} in the meantime`)
  }
}
