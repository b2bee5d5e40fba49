// Where ./svc up stores the authority of a cluster in its home.
const authorityInHome = /^(.+)\/pki\/authority\.pem$/

/**
 * Returns the option, with a space before it, that a command of ./svc needs to reach the cluster with a file of certificate
 * authorities; empty for the home that commands use without it, and if the home is unknown.
 */
export function homeOption(authorityFile: string | null | undefined): string {
  const home = authorityInHome.exec(authorityFile ?? '')?.[1]
  if (home === undefined || home.endsWith('/.svc')) return ''
  return ` --home ${/^[\w./-]+$/.test(home) ? home : `'${home.replaceAll("'", `'\\''`)}'`}`
}
