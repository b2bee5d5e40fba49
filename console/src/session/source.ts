/**
 * Where the page gets its data: from a cluster that requires a login or none, from a snapshot next to the page, or from
 * files that the user chooses. The server of the page says so in the page.
 */
type Source = 'login' | 'open' | 'snapshot' | 'files'

/** Returns where the page gets its data. */
export const pageSource = (): Source =>
  (document.querySelector('meta[name=svc-source]')?.getAttribute('content') ?? 'login') as Source

/** Returns whether the page shows a cluster, and not a snapshot of one. */
export const hasCluster = (): boolean => pageSource() === 'login' || pageSource() === 'open'
