import type { Settings } from '../config/index.ts'

/**
 * Returns a test of paths with servlet patterns: complete paths, or prefixes ending in `/*`, which also match the
 * prefix itself.
 */
export function unsecuredPaths(settings: Settings): (path: string) => boolean {
  const patterns = settings.get('svc.auth.unsecuredPaths')
  const exactPaths = new Set(patterns.filter((pattern) => !pattern.endsWith('/*')))
  const prefixes = patterns.filter((pattern) => pattern.endsWith('/*')).map((pattern) => pattern.slice(0, -2))
  if (patterns.length === 0) return () => false
  return (path) =>
    exactPaths.has(path) || prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
}
