import { realpathSync } from 'node:fs'
import { isAbsolute, normalize, sep } from 'node:path'
import { refuse } from '@svc/domain/validation'
import type { InputSource } from './index-spec.ts'

/** Where the source of the input stands in a task. */
export const sourceField = 'spec.ioConfig.inputSource'

/** What an index task may read besides inline data. */
export interface InputAccess {
  /** Folders below which local files may lie (`svc.ingestion.local.allowedRoots`). */
  readonly allowedRoots: readonly string[]
  /** Hosts, `name` or `name:port`, that may be asked over HTTP (`svc.ingestion.http.allowedHosts`). */
  readonly allowedHosts: readonly string[]
}

/** The folder without links; as it is where it cannot be read. */
export function realRoot(root: string): string {
  try {
    return realpathSync(root)
  } catch {
    return root
  }
}

/**
 * Refuses a local path that is plainly outside the allowed folders with an invalidInput failure. Links are followed,
 * and checked again, when the task opens the files.
 */
export function checkLocal(
  source: Extract<InputSource, { type: 'local' }>,
  allowedRoots: readonly string[],
): void {
  const roots = [...new Set(allowedRoots.flatMap((root) => [normalize(root), realRoot(root)]))]
  const allowed =
    allowedRoots.length === 0
      ? 'no local path: svc.ingestion.local.allowedRoots names no folder'
      : `an absolute path below one of [${allowedRoots.join(', ')}]`
  const check = (field: string, path: string): void => {
    const below = (root: string): boolean =>
      `${normalize(path)}${sep}`.startsWith(root.endsWith(sep) ? root : root + sep)
    if (!isAbsolute(path) || path.includes('\0') || !roots.some(below)) throw refuse(field, path, allowed)
  }
  if (source.baseDir !== undefined) check(`${sourceField}.baseDir`, source.baseDir)
  source.files.forEach((file, index) => {
    check(`${sourceField}.files[${index}]`, file)
  })
}

/** Whether the URI is one that may be asked: HTTP or HTTPS, no credentials, an allowed host and port. */
export function isAllowedUri(uri: string, allowedHosts: readonly string[]): boolean {
  if (!URL.canParse(uri)) return false
  const url = new URL(uri)
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:'
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const isAllowed = allowedHosts.some((host) =>
    [url.host, `${url.hostname}:${port}`].includes(host.toLowerCase()),
  )
  return isHttp && isAllowed && url.username === '' && url.password === ''
}

/** Refuses a URI that may not be asked with an invalidInput failure. */
export function checkHttp(uris: readonly string[], allowedHosts: readonly string[]): void {
  const allowed =
    allowedHosts.length === 0
      ? 'no URI: svc.ingestion.http.allowedHosts names no host'
      : `a URI such as [https://host/file], without credentials, at one of the hosts [${allowedHosts.join(', ')}]`
  uris.forEach((uri, index) => {
    if (!isAllowedUri(uri, allowedHosts))
      throw refuse(`${sourceField}.uris[${index}]`, withoutCredentials(uri), allowed)
  })
}

function withoutCredentials(uri: string): string {
  return uri.replace(/\/\/[^/?#]*@/, '//***@')
}
