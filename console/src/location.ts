import { useBrowserLocation } from 'wouter/use-browser-location'
import { useHashLocation } from 'wouter/use-hash-location'

// The router decodes addresses, except for some characters, before it finds the names in them. A name that is decoded twice
// can become another one.
const undecoded = (location: string): string => location.replaceAll('%', '%25')

/** The current screen of a page with a cluster, whose names are still encoded. */
export function useScreenInPath(
  ...options: Parameters<typeof useBrowserLocation>
): ReturnType<typeof useBrowserLocation> {
  const [location, navigate] = useBrowserLocation(...options)
  return [undecoded(location), navigate]
}

/**
 * The current screen for a page without a cluster: it is after the # of the address, because the page can be in any folder
 * of a web server. Edited rules may follow it after a semicolon.
 */
export function useScreenInHash(
  ...options: Parameters<typeof useHashLocation>
): ReturnType<typeof useHashLocation> {
  const [location, navigate] = useHashLocation(...options)
  return [undecoded(location.split(';')[0]!), navigate]
}
useScreenInHash.hrefs = (href: string): string => `#${href}`

/** Returns the name that a part of an address encodes; undefined if it is not valid, because anyone can write an address. */
export function nameInAddress(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** Returns the address of the screen of a datasource. */
export const datasourceAddress = (dataSource: string): string =>
  `/datasources/${encodeURIComponent(dataSource)}`

/** Returns the address of the compaction screen with a selected datasource. */
export const compactionAddress = (dataSource: string): string =>
  `/compaction/${encodeURIComponent(dataSource)}`

/** Returns the address of the screen of tiers and servers with a server that was found. */
export const serverAddress = (host: string): string => `/tiers/${encodeURIComponent(host)}`

/** Returns the address of the screen of runs and tasks with a selected task. */
export const taskAddress = (id: string): string => `/runs/${encodeURIComponent(id)}`

/** Returns the address of the screen of users and roles with what is selected there. */
export const accessAddress = (kind: 'user' | 'role' | 'mapping', name: string): string =>
  `/access/${kind}/${encodeURIComponent(name)}`
