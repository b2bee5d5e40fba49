import { jsonInAscii } from '@svc/domain/json'

const maxBytes = 4096

/**
 * Returns the header that reports used segments missing from the result because no server has loaded them, by datasource.
 * If not all datasources fit in 4 KiB, `truncated` is true.
 */
export function responseContext(notLoaded: Readonly<Record<string, number>>): Record<string, string> {
  const datasources = Object.entries(notLoaded)
  if (datasources.length === 0) return {}
  for (let count = datasources.length; ; count--) {
    const text = jsonInAscii(
      JSON.stringify({
        segmentsNotLoaded: Object.fromEntries(datasources.slice(0, count)),
        ...(count < datasources.length ? { truncated: true } : {}),
      }),
    )
    if (text.length <= maxBytes) return { 'X-Svc-Response-Context': text }
  }
}
