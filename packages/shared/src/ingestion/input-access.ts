import { realpathSync } from 'node:fs'
import { isAbsolute, normalize, sep } from 'node:path'
import { refuse } from '@svc/domain/validation'
import type { InputSource } from './index-spec.ts'

/** Path of the input source in a task. */
export const sourceField = 'spec.ioConfig.inputSource'

/** What an index task may read in addition to inline data. */
export interface InputAccess {
  /** Folders that contain the local files that may be read (`svc.ingestion.local.allowedRoots`). */
  readonly allowedRoots: readonly string[]
  /** Hosts, as `name` or `name:port`, that may be read over HTTP (`svc.ingestion.http.allowedHosts`). */
  readonly allowedHosts: readonly string[]
}

/** Returns the folder with all links resolved, or unchanged if it cannot be read. */
export function realRoot(root: string): string {
  try {
    return realpathSync(root)
  } catch {
    return root
  }
}

/**
 * Throws an invalidInput Failure for a local path that is outside the allowed folders without following links. The
 * task checks again, with links, when it opens the files.
 */
export function checkLocal(
  source: Extract<InputSource, { type: 'local' }>,
  allowedRoots: readonly string[],
): void {
  const roots = [...new Set(allowedRoots.flatMap((root) => [normalize(root), realRoot(root)]))]
  const allowed =
    allowedRoots.length === 0
      ? 'no local path, because [svc.ingestion.local.allowedRoots] is empty'
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

/**
 * Returns whether a URI may be read: HTTP or HTTPS, no credentials, an allowed host and port. A host without a port allows only the
 * default port, because other ports of a host may belong to other services.
 */
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

/** Throws an invalidInput Failure for a URI that may not be read. */
export function checkHttp(uris: readonly string[], allowedHosts: readonly string[]): void {
  const allowed =
    allowedHosts.length === 0
      ? 'no URI, because [svc.ingestion.http.allowedHosts] is empty'
      : `a URI such as [https://host/file] without credentials, whose host and port are one of [${allowedHosts.join(', ')}], where a host without a port means port 80 (http) or 443 (https)`
  uris.forEach((uri, index) => {
    if (!isAllowedUri(uri, allowedHosts))
      throw refuse(`${sourceField}.uris[${index}]`, withoutCredentials(uri), allowed)
  })
}

function withoutCredentials(uri: string): string {
  return uri.replace(/\/\/[^/?#]*@/, '//***@')
}
