import { shellWord } from '@svc/domain/text'

// Where ./svc up stores the authority of a cluster in its home.
const authorityInHome = /^(.+)\/pki\/authority\.pem$/

/**
 * Returns ` --home DIR` for commands that the page shows, derived from the path of the cluster's authority file. Empty for the
 * default home, or if the home is unknown.
 */
export function homeOption(authorityFile: string | null | undefined): string {
  const home = authorityInHome.exec(authorityFile ?? '')?.[1]
  if (home === undefined || home === '.svc' || home.endsWith('/.svc')) return ''
  return ` --home ${shellWord(home)}`
}
