import { homedir } from 'node:os'
import path from 'node:path'

/**
 * The folder for caches of this user. Undefined if none is known: a user without a name may have no home directory, and
 * programs with different working directories would not agree on a relative path.
 */
export function userCache(
  environment: NodeJS.ProcessEnv,
  readHome: () => string = homedir,
): string | undefined {
  const { XDG_CACHE_HOME: cache = '' } = environment
  if (path.isAbsolute(cache)) return cache
  const home = homeOf(readHome)
  return path.isAbsolute(home) ? path.join(home, '.cache') : undefined
}

function homeOf(readHome: () => string): string {
  try {
    return readHome()
  } catch {
    return ''
  }
}
