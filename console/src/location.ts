import { useHashLocation } from 'wouter/use-hash-location'

/**
 * The current screen for a page without a cluster: it is after the # of the address, because the page can be in any folder
 * of a web server. Edited rules may follow it after a semicolon.
 */
export function useScreenInHash(
  ...options: Parameters<typeof useHashLocation>
): ReturnType<typeof useHashLocation> {
  const [location, navigate] = useHashLocation(...options)
  return [location.split(';')[0]!, navigate]
}
useScreenInHash.hrefs = (href: string): string => `#${href}`
